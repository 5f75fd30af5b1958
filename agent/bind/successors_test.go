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

func (e *evicted) come() { e.Come(context.Background(), &e.snapshot, e.now) }

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
		"as planned":                   {func(*evicted) {}, "to"},
		"its predecessor is gone":      {func(e *evicted) { e.old.UID = "somebody else" }, "to"},
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
