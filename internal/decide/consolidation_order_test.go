package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// coarse is a shop where nothing cheaper than a large node can be bought for half of what that
// holds.
func coarse() []offer.InstanceType {
	return []offer.InstanceType{sold("large", 8, 0.4), sold("small", 2, 0.1)}
}

// A node that costs much and is used little goes before a small one fills the room that its
// pods need, even if the small one has been as it is for longer.
func TestBetterSourcesGoFirst(t *testing.T) {
	w := newWorld(t, coarse()).provisioner("default", consolidating)
	w.node("emptier", "large", "a", nil).node("full", "small", "a", nil).node("fuller", "large", "a", nil)
	w.replicas(7, "web", "emptier", halfCore).replicas(3, "web", "full", halfCore).replicas(8, "web", "fuller", halfCore).older()
	for i := range w.in.Snapshot.Pods {
		if p := &w.in.Snapshot.Pods[i]; p.NodeName == "emptier" {
			p.Since = noon.Add(-2 * time.Hour)
		}
	}
	plan := w.decide()
	verify(t, &w.in, &plan)
	if got := consolidated(plan); got != "emptier ->" {
		t.Errorf("got %q: %s", got, why(plan, "emptier"))
	}
}

// A step waits until what it makes use of has been as it is for a time: the room on a node that
// could rather go itself, and the pods for which a machine is bought.
func TestStepsWaitForWhatChanges(t *testing.T) {
	const waits = "it has not wasted enough yet to pay for the moves"
	room := func(w *world) {
		w.node("better", "large", "a", nil).node("full", "small", "a", nil).replicas(10, "web", "better", halfCore).replicas(3, "web", "full", halfCore)
	}
	replaced := func(w *world) {
		w.node("full", "large", "a", nil).replicas(5, "web", "full", halfCore)
	}
	for name, c := range map[string]struct {
		given   func(*world)
		types   []offer.InstanceType
		changed string // the node, ten minutes ago
		want    string
	}{
		"room on a better source":                         {room, coarse(), "", "full ->"},
		"room on a better source that changes":            {room, coarse(), "better", "->"},
		"a better source, and pods that leave the source": {room, coarse(), "full", "full ->"},
		"a cheaper machine":                               {replaced, shop(), "", "full -> medium"},
		"a cheaper machine for a node that changes":       {replaced, shop(), "full", "->"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.types).provisioner("default", consolidating)
			c.given(w)
			w.older()
			w.in.Disturbed = map[string]time.Time{c.changed: noon.Add(-10 * time.Minute)}
			plan := w.decide()
			verify(t, &w.in, &plan)
			if got := consolidated(plan); got != c.want {
				t.Errorf("got %q, want %q; %s", got, c.want, why(plan, "full"))
			}
			if got := why(plan, "full"); strings.HasPrefix(c.want, "->") && got != waits {
				t.Errorf("it stays because %q, want %q", got, waits)
			}
		})
	}
}

// No step has more nodes than budgets ever let go at once: it would wait for ever. Three of these
// nodes fit on a large machine together, which saves most, and each alone on one that is a
// little cheaper.
func TestStepsFitBudgets(t *testing.T) {
	for nodes, want := range map[string]string{
		"'100%'": "n1 n2 n3 -> large", "'3'": "n1 n2 n3 -> large", "'2'": "n1 n2 -> three three", "10%": "n1 -> three", "'0'": "->",
	} {
		types := []offer.InstanceType{sold("large", 8, 0.4), sold("medium", 4, 0.2), sold("three", 3, 0.19)}
		w := newWorld(t, types).provisioner("default", strings.Replace(consolidating, "'100%'", nodes, 1))
		for _, name := range []string{"n1", "n2", "n3"} {
			w.node(name, "medium", "a", nil).replicas(1, "web", name, "requests: {cpu: 2340m, memory: 2Gi}")
		}
		w.older()
		plan := w.decide()
		verify(t, &w.in, &plan)
		if got := consolidated(plan); got != want {
			t.Errorf("with a budget of %s: got %q, want %q; n1: %s", nodes, got, want, why(plan, "n1"))
		}
		if got, budget := why(plan, "n3"), "a disruption budget allows no more now"; want != "n1 n2 n3 -> large" && got != budget {
			t.Errorf("with a budget of %s, n3 stays because %q, want %q", nodes, got, budget)
		}
	}
}

// Where a budget does not let all steps go that are due, those go first that save the most for
// each node.
func TestStepsThatSaveMostGoFirst(t *testing.T) {
	w := newWorld(t, shop()).provisioner("default", strings.Replace(consolidating, "'100%'", "'1'", 1))
	w.node("n1", "small", "a", nil).node("n2", "medium", "a", nil).node("n3", "large", "a", nil)
	w.replicas(1, "web", "n1", halfCore).replicas(1, "web", "n2", halfCore).replicas(12, "web", "n3", halfCore).older()
	plan := w.decide()
	verify(t, &w.in, &plan)
	if got, want := consolidated(plan), "n2 ->"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(plan.Consolidation.Steps) != 2 || plan.Consolidation.Steps[0].Nodes[0] != "n2" {
		t.Errorf("steps %+v", plan.Consolidation.Steps)
	}
}

// A step that cannot be carried out leaves the budget to the next one. The step that saves most replaces
// the large node by a machine in the only zone that is left, where pods are that its pods keep away from.
// The other one needs no machine.
func TestAStepThatFailsHoldsNoBudget(t *testing.T) {
	w := newWorld(t, shop()).provisioner("default", strings.NewReplacer("'100%'", "'1'", "requirements: [", "requirements: [{key: $zone, operator: In, values: [a]}, ").Replace(consolidating))
	w.node("big", "large", "b", nil).node("s1", "small", "a", nil).node("s2", "small", "a", nil)
	w.replicas(3, "db", "big", "requests: {cpu: 1200m, memory: 1Gi}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $zone, labelSelector: {matchLabels: {app: web}}}]}}")
	w.replicas(2, "web", "s1", halfCore+", nodeSelector: {$zone: a}").replicas(1, "web", "s2", halfCore+", nodeSelector: {$zone: a}").older()
	plan := w.decide()
	verify(t, &w.in, &plan)
	if got, want := consolidated(plan), "s2 ->"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if steps := plan.Consolidation.Steps; len(steps) != 2 || steps[0].Nodes[0] != "big" {
		t.Errorf("steps %+v, want two, of which that of the large node is first", steps)
	} else if steps[0].Saving != 0 || steps[1].Saving == 0 {
		t.Errorf("steps save %d and %d, want nothing from that which cannot be carried out", steps[0].Saving, steps[1].Saving)
	}
	if got, want := why(plan, "big"), "would have no other place"; !strings.Contains(got, want) {
		t.Errorf("the large node stays because %q, want that a pod of it %s", got, want)
	}
	if got := why(plan, "s2"); got != "" {
		t.Errorf("node s2 goes, and yet waits because %q", got)
	}
}
