package bind_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	dto "github.com/prometheus/client_model/go"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/bind"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// bindings notes what is bound.
type bindings struct {
	mu  sync.Mutex
	all map[string]string
}

func (b *bindings) Bind(_ context.Context, pod cluster.PodKey, node string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all[pod.Name] = node
	return nil
}

// evicted is a pod that goes from a node, with a place on another, and its successor.
type evicted struct {
	*bind.Successors
	bound     *bindings
	now       time.Time
	snapshot  cluster.Snapshot
	old, next *cluster.Pod
}

func newEvicted(bound bool) *evicted {
	asks := &cluster.Template{Requests: amount.List{amount.CPU: 1000}}
	owner := cluster.Owner{Kind: "ReplicaSet", Name: "web", UID: "rs"}
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	e := &evicted{now: now, bound: &bindings{all: map[string]string{}}}
	e.snapshot = cluster.Snapshot{
		Nodes: []cluster.Node{
			{Name: "from", Ready: true, Initialized: true, Deleting: true},
			{Name: "to", Ready: true, Initialized: true, Allocatable: amount.List{amount.CPU: 1500}},
		},
		Pods: []cluster.Pod{
			{PodKey: cluster.PodKey{Name: "old", UID: "old"}, Template: asks, Owner: owner, NodeName: "from", State: cluster.PodBound, Created: now.Add(-time.Hour)},
			{PodKey: cluster.PodKey{Name: "next", UID: "next"}, Template: asks, Owner: owner, State: cluster.PodNew, Created: now},
		},
	}
	e.old, e.next = &e.snapshot.Pods[0], &e.snapshot.Pods[1]
	e.Successors = &bind.Successors{Pods: e.bound, Assumed: nodes.NewAssumptions(), Metrics: metrics.New(), Log: hclog.NewNullLogger()}
	before := cluster.Snapshot{Nodes: e.snapshot.Nodes, Pods: []cluster.Pod{*e.old}}
	e.Expect(&before, []bind.Move{{Pod: &before.Pods[0], Node: "to", Bound: bound}})
	e.old.State = cluster.PodTerminating
	return e
}

// again plans the move of the pod as it is now.
func (e *evicted) again() {
	before := *e.old
	before.State = cluster.PodBound
	e.Expect(&cluster.Snapshot{Nodes: e.snapshot.Nodes, Pods: []cluster.Pod{before}}, []bind.Move{{Pod: &before, Node: "to", Bound: true}})
}

func (e *evicted) come() {
	e.Come(context.Background(), &e.snapshot, e.now)
	e.Wait()
}

func (e *evicted) landed(t *testing.T, where string) float64 {
	var m dto.Metric
	if err := e.Metrics.Consolidation.Landed.WithLabelValues(where).Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// The pod that comes in the place of an evicted one is bound where that was planned to go,
// and only then.
func TestSuccessorsAreBoundWherePlanned(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*evicted)
		want   string
	}{
		"as planned":              {func(*evicted) {}, "to"},
		"its predecessor is gone": {func(e *evicted) { e.old.UID = "somebody else" }, "to"},
		"labels of its node are gone": {func(e *evicted) {
			t := *e.old.Template
			t.Labels = map[string]string{"app": "web"}
			e.next.Template = &t
		}, "to"},
		"another pod of a StatefulSet": {func(e *evicted) {
			e.next.Owner.Kind = "StatefulSet"
			e.old.Owner.Kind = "StatefulSet"
			e.again()
		}, ""},
		"its predecessor stays":        {func(e *evicted) { e.old.State = cluster.PodBound }, ""},
		"another owner's":              {func(e *evicted) { e.next.Owner.UID = "other" }, ""},
		"a pod that asks for more":     {func(e *evicted) { e.next.Template = &cluster.Template{Requests: amount.List{amount.CPU: 1200}} }, ""},
		"a pod from before":            {func(e *evicted) { e.next.Created = e.now.Add(-time.Minute) }, ""},
		"the scheduler was quicker":    {func(e *evicted) { e.next.NodeName, e.next.State = "other", cluster.PodBound }, ""},
		"the scheduler has refused it": {func(e *evicted) { e.next.State = cluster.PodPending }, ""},
		"the node is full":             {func(e *evicted) { e.snapshot.Nodes[1].Allocatable = amount.List{amount.CPU: 900} }, ""},
		"the node goes":                {func(e *evicted) { e.snapshot.Nodes[1].Deleting = true }, ""},
		"the node is cordoned":         {func(e *evicted) { e.snapshot.Nodes[1].Unschedulable = true }, ""},
		"the node is not ready":        {func(e *evicted) { e.snapshot.Nodes[1].Ready = false }, ""},
	} {
		e := newEvicted(true)
		c.change(e)
		e.come()
		if got := e.bound.all["next"]; got != c.want {
			t.Errorf("%s: bound to %q, want %q", name, got, c.want)
		}
	}
	e := newEvicted(false)
	if e.come(); len(e.bound.all) > 0 {
		t.Errorf("bound %v, which is left to the scheduler", e.bound.all)
	}
}

// Where successors land is counted once for each, whoever has bound them, and then nothing
// is waited for.
func TestSuccessorsAreCounted(t *testing.T) {
	for node, want := range map[string]string{"to": metrics.LandedAsPlanned, "other": metrics.LandedElsewhere} {
		for _, early := range []bool{false, true} {
			e := newEvicted(true)
			if !early {
				e.come()
			}
			e.next.NodeName, e.next.State = node, cluster.PodBound
			for range 3 {
				e.come()
			}
			if got := e.landed(t, want); got != 1 || e.Expecting() {
				t.Errorf("on %s: counted %g times, expecting more: %t", node, got, e.Expecting())
			}
		}
	}
}

// Each successor takes one place only: those of pods of the same owner that go meanwhile are
// for others.
func TestSuccessorsTakeOnePlaceEach(t *testing.T) {
	e := newEvicted(true)
	room := amount.List{amount.CPU: 2500} // for all that is on its way
	e.snapshot.Nodes[1].Allocatable = room
	e.snapshot.Nodes = append(e.snapshot.Nodes, cluster.Node{Name: "second", Ready: true, Initialized: true, Allocatable: room})
	next, later, last := *e.next, *e.old, *e.next
	later.PodKey, later.State = cluster.PodKey{Name: "later", UID: "later"}, cluster.PodBound
	last.PodKey = cluster.PodKey{Name: "last", UID: "last"}
	e.snapshot.Pods = []cluster.Pod{later, next, *e.old}
	e.Expect(&e.snapshot, []bind.Move{{Pod: &later, Node: "second", Bound: true}})
	e.come()
	e.snapshot.Pods[1].NodeName, e.snapshot.Pods[1].State = "to", cluster.PodBound
	e.come()
	e.snapshot.Pods[0].State = cluster.PodTerminating
	e.come()
	e.snapshot.Pods = append(e.snapshot.Pods, last)
	e.come()
	if got := e.bound.all; got["next"] != "to" || got["last"] != "second" {
		t.Errorf("bound %v", got)
	}
	if planned := e.landed(t, metrics.LandedAsPlanned); planned != 1 {
		t.Errorf("%g pods have landed as planned, want 1", planned)
	}
}

// kube-scheduler may put pods that are on their way on the same node: nothing is bound there
// unless all of them have room.
func TestSuccessorsLeaveRoomForOthers(t *testing.T) {
	evict := func(e *evicted) *cluster.Pod {
		other := *e.old
		other.PodKey, other.State = cluster.PodKey{Name: "other", UID: "other"}, cluster.PodBound
		e.snapshot.Pods = append(e.snapshot.Pods, other)
		e.Expect(&e.snapshot, []bind.Move{{Pod: &other, Node: "elsewhere", Bound: true}})
		return &e.snapshot.Pods[len(e.snapshot.Pods)-1]
	}
	for name, c := range map[string]struct {
		others func(*evicted)
		want   string
	}{
		"nobody else": {func(*evicted) {}, "to"},
		"a pod without a node": {func(e *evicted) {
			p := *e.next
			p.UID, p.Owner.UID = "other", "other"
			e.snapshot.Pods = append(e.snapshot.Pods, p)
		}, ""},
		"one that is too large": {func(e *evicted) {
			p := *e.next
			p.UID, p.Owner.UID = "other", "other"
			p.Template = &cluster.Template{Requests: amount.List{amount.CPU: 2000}}
			e.snapshot.Pods = append(e.snapshot.Pods, p)
		}, "to"},
		"a pod that is evicted":    {func(e *evicted) { evict(e).State = cluster.PodTerminating }, ""},
		"a pod of a draining node": {func(e *evicted) { evict(e) }, ""},
		"a pod that may go later":  {func(e *evicted) { e.snapshot.Nodes[0].Deleting = false; evict(e) }, "to"},
	} {
		e := newEvicted(true)
		c.others(e)
		e.come()
		if got := e.bound.all["next"]; got != c.want {
			t.Errorf("%s: bound to %q, want %q", name, got, c.want)
		}
	}
}

// A place is not kept for ever, and a new plan takes the place of an earlier one.
func TestSuccessorsAreNotAwaitedForEver(t *testing.T) {
	e := newEvicted(true)
	e.snapshot.Pods = e.snapshot.Pods[:1]
	e.come()
	e.now = e.now.Add(time.Minute)
	if e.come(); e.Expecting() {
		t.Error("a successor is awaited after a minute")
	}
	e = newEvicted(true)
	e.old.State = cluster.PodBound
	if e.Expect(&e.snapshot, nil); e.Expecting() {
		t.Error("a move is expected that is planned no more")
	}
}
