package consolidation_test

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/consolidation"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// eviction is a pod that was evicted, with the node "to" planned for its successor, which is
// there and on no node yet.
type eviction struct {
	*consolidation.Landings
	counts    metrics.Consolidation
	now       time.Time
	pods      []*cluster.Pod
	old, next *cluster.Pod
}

func newEviction() *eviction {
	asks := &cluster.Template{Requests: amount.List{amount.CPU: 1000}}
	owner := cluster.Owner{Kind: "ReplicaSet", Name: "web", UID: "rs"}
	e := &eviction{now: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), counts: metrics.New().Consolidation}
	e.Landings = consolidation.NewLandings(&e.counts)
	e.old = &cluster.Pod{PodKey: cluster.PodKey{Name: "old", UID: "old"}, Template: asks, Owner: owner, NodeName: "from", State: cluster.PodBound, Created: e.now.Add(-time.Hour)}
	e.next = &cluster.Pod{PodKey: cluster.PodKey{Name: "next", UID: "next"}, Template: asks, Owner: owner, State: cluster.PodNew, Created: e.now.Add(time.Second)}
	e.pods = []*cluster.Pod{e.old}
	e.look(e.old, "to")
	e.old.State = cluster.PodTerminating
	e.pods = append(e.pods, e.next)
	return e
}

// look looks at the pods, and lets five seconds pass. A pod is about to be evicted, and its
// successor has a node in the plan.
func (e *eviction) look(evicted *cluster.Pod, node string) {
	e.lookAt(map[string]string{evicted.UID: node})
}

func (e *eviction) lookAt(moves map[string]string) {
	snapshot := &cluster.Snapshot{}
	for _, p := range e.pods {
		snapshot.Pods = append(snapshot.Pods, *p)
	}
	e.Look(snapshot, moves, e.now)
	e.now = e.now.Add(5 * time.Second)
}

func (e *eviction) landed(t *testing.T) (planned, elsewhere float64) {
	t.Helper()
	count := func(where string) float64 {
		var m dto.Metric
		if err := e.counts.Landed.WithLabelValues(where).Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	return count(metrics.LandedAsPlanned), count(metrics.LandedElsewhere)
}

// A successor is counted once, by where it lands, whether it was seen before or not.
func TestLandings(t *testing.T) {
	for node, want := range map[string][2]float64{"to": {1, 0}, "other": {0, 1}} {
		for _, early := range []bool{false, true} {
			e := newEviction()
			if early {
				e.lookAt(nil)
			}
			e.next.NodeName, e.next.State = node, cluster.PodBound
			for range 3 {
				e.lookAt(nil)
			}
			if planned, elsewhere := e.landed(t); planned != want[0] || elsewhere != want[1] {
				t.Errorf("on %s, seen before %t: %g as planned, %g elsewhere", node, early, planned, elsewhere)
			}
		}
	}
}

// Only the pod that comes in the place of the evicted one is its successor.
func TestSuccessors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*eviction)
		want   float64
	}{
		"its predecessor terminates": {func(*eviction) {}, 1},
		"its predecessor is gone":    {func(e *eviction) { e.pods = e.pods[1:] }, 1},
		"labels of its node are gone": {func(e *eviction) {
			t := *e.next.Template
			t.Labels = map[string]string{"app": "web"}
			e.next.Template = &t
		}, 1},
		"its predecessor stays": {func(e *eviction) { e.old.State = cluster.PodBound }, 0},
		"another owner's":       {func(e *eviction) { e.next.Owner.UID = "other" }, 0},
		"another pod of a StatefulSet": {func(e *eviction) {
			e.old.Owner.Kind, e.next.Owner.Kind = "StatefulSet", "StatefulSet"
			e.old.State = cluster.PodBound
			e.pods, e.next.Created = e.pods[:1], e.now
			e.look(e.old, "to")
			e.old.State = cluster.PodTerminating
			e.pods = append(e.pods, e.next)
		}, 0},
		"a pod that asks for more": {func(e *eviction) { e.next.Template = &cluster.Template{Requests: amount.List{amount.CPU: 1200}} }, 0},
		"a pod from before":        {func(e *eviction) { e.next.Created = e.now.Add(-time.Minute) }, 0},
		"after more than a minute": {func(e *eviction) {
			e.pods = nil
			e.lookAt(nil)
			e.now = e.now.Add(time.Minute)
			e.pods = []*cluster.Pod{e.next}
		}, 0},
	} {
		e := newEviction()
		c.change(e)
		e.next.NodeName, e.next.State = "to", cluster.PodBound
		e.lookAt(nil)
		if planned, _ := e.landed(t); planned != c.want {
			t.Errorf("%s: counted %g times, want %g", name, planned, c.want)
		}
	}
}

// Each successor takes one place only: those of pods of the same owner that go later are for
// others. A move that is planned no more is not waited for.
func TestOneSuccessorEach(t *testing.T) {
	e := newEviction()
	later := *e.old
	later.PodKey, later.State = cluster.PodKey{Name: "later", UID: "later"}, cluster.PodBound
	e.pods = append(e.pods, &later)
	e.next.NodeName, e.next.State = "to", cluster.PodBound
	e.look(&later, "second")
	later.State = cluster.PodTerminating
	e.lookAt(nil)
	if planned, elsewhere := e.landed(t); planned != 1 || elsewhere != 0 {
		t.Errorf("%g as planned, %g elsewhere, want the first alone", planned, elsewhere)
	}
	last := *e.next
	last.PodKey, last.NodeName, last.Created = cluster.PodKey{Name: "last", UID: "last"}, "second", e.now
	e.pods = append(e.pods, &last)
	e.lookAt(nil)
	if planned, elsewhere := e.landed(t); planned != 2 || elsewhere != 0 {
		t.Errorf("%g as planned, %g elsewhere, want both as planned", planned, elsewhere)
	}

	e = newEviction()
	e.old.State = cluster.PodBound
	e.lookAt(nil) // the plan has changed
	e.old.State, e.next.NodeName, e.next.State, e.next.Created = cluster.PodTerminating, "to", cluster.PodBound, e.now
	e.lookAt(nil)
	if planned, elsewhere := e.landed(t); planned+elsewhere != 0 {
		t.Errorf("%g as planned, %g elsewhere, want none of a move that was planned no more", planned, elsewhere)
	}
}
