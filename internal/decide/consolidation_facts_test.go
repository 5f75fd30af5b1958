package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

const halfCore = "requests: {cpu: 500m, memory: 1Gi}"

// spotLadder is a dear type and n cheaper ones, all of them as spot.
func spotLadder(n int) []offer.InstanceType {
	out := []offer.InstanceType{sold("dear", 8, 1)}
	for i := range n {
		out = append(out, sold(fmt.Sprintf("step-%02d", i), 2, 0.1+0.01*float64(i)))
	}
	return byName(out)
}

func onSpot(n *cluster.Node) { n.Labels[api.LabelCapacityType] = api.CapacitySpot }

func TestConsolidationOfSpot(t *testing.T) { // DISR-035, CONS-009
	for cheaper, want := range map[int]string{1: "->", 14: "->", 15: "n1 -> step-00"} {
		w := newWorld(t, spotLadder(cheaper)).provisioner("default", strings.Replace(consolidating, "[on-demand]", "[spot]", 1))
		w.node("n1", "dear", "a", onSpot).replicas(2, "web", "n1", halfCore).older()
		plan := w.decide()
		if got := consolidated(plan); got != want {
			t.Errorf("%d cheaper types: %q, want %q", cheaper, got, want)
		}
		if len(plan.Machines) == 0 {
			stay := plan.Consolidation.Stays[0]
			rule := fmt.Sprintf("a spot node is replaced by spot only if 15 cheaper instance types are possible for its pods, not %d", cheaper)
			if stay.Blocker != BlockedSpot || stay.Why != rule || stay.Unused != 873_419 { // 6.9 of 7.9 CPUs for $1 per hour
				t.Errorf("%d cheaper types: stays %+v, want the rule and what is unused", cheaper, stay)
			}
			continue
		}
		types := map[string]bool{}
		for _, c := range plan.Machines[0].Candidates {
			types[c.InstanceType] = true
		}
		if len(types) < 15 {
			t.Errorf("the request carries %d types, want 15", len(types))
		}
	}
	// A little more for a full node than for one of another type is not unused: prices are not chased.
	types := spotLadder(0)
	types = byName(append(types, sold("cheap", 8, 0.7)))
	full := newWorld(t, types).provisioner("default", strings.Replace(consolidating, "[on-demand]", "[spot]", 1))
	full.node("n1", "dear", "a", onSpot).replicas(1, "web", "n1", "requests: {cpu: 7900m, memory: 1Gi}").older()
	if stay := full.decide().Consolidation.Stays[0]; stay.Blocker != BlockedSpot || stay.Unused > 10 { // micro-dollars, by rounding
		t.Errorf("a full node: stays %+v, want the rule and nothing unused", stay)
	}
	// If its pods will soon have room elsewhere, it is not known that the rule costs anything.
	soon := newWorld(t, spotLadder(1)).provisioner("default", strings.Replace(consolidating, "[on-demand]", "[spot]", 1))
	soon.node("n1", "dear", "a", onSpot).node("n2", "dear", "a", func(n *cluster.Node) { onSpot(n); n.Initialized = false })
	soon.replicas(2, "web", "n1", halfCore).replicas(2, "web", "n2", halfCore).older()
	for _, stay := range soon.decide().Consolidation.Stays {
		if stay.Node == "n1" && (stay.Blocker != BlockedUnpaid || stay.Unused != 0) {
			t.Errorf("another node comes up: stays %+v, want nothing unused", stay)
		}
	}
	// A spot node goes without more ado where its pods fit elsewhere.
	w := newWorld(t, spotLadder(1)).provisioner("default", strings.Replace(consolidating, "[on-demand]", "[spot]", 1))
	w.node("n1", "dear", "a", onSpot).node("n2", "dear", "a", onSpot).replicas(3, "web", "n1", halfCore).replicas(1, "web", "n2", halfCore).older()
	if got := consolidated(w.decide()); got != "n2 ->" {
		t.Errorf("got %q, want n2 to go", got)
	}
}

func TestOnDemandBecomesSpot(t *testing.T) { // CONS-010
	types := []offer.InstanceType{sold("medium", 4, 0.2)}
	for i := range types[0].Offerings {
		if o := &types[0].Offerings[i]; o.CapacityType == api.CapacitySpot {
			o.Price /= 3
		}
	}
	w := newWorld(t, types).provisioner("default", strings.Replace(consolidating, "[on-demand]", "[spot, on-demand]", 1))
	w.node("n1", "medium", "a", nil).replicas(6, "web", "n1", halfCore).older()
	plan := w.decide()
	if got := consolidated(plan); got != "n1 -> medium" {
		t.Fatalf("got %q", got)
	}
	for _, c := range plan.Machines[0].Candidates {
		if c.CapacityType != api.CapacitySpot {
			t.Errorf("the request is not pinned to spot: %+v", c)
		}
	}
}

// What is bought is cheaper whichever of its candidates comes.
func TestReplacementIsCheaperWhateverComes(t *testing.T) { // CONS-007
	types := []offer.InstanceType{sold("medium", 4, 0.5), sold("small", 2, 0.2)}
	for i := range types[1].Offerings {
		types[1].Offerings[i].Price = map[string]offer.Price{"a": 1_000_000, "b": 200_000, "c": 210_000}[types[1].Offerings[i].Zone]
	}
	w := newWorld(t, types).provisioner("default", consolidating)
	w.node("n1", "medium", "a", nil).replicas(2, "web", "n1", halfCore).older()
	plan := w.decide()
	if got := consolidated(plan); got != "n1 -> small" {
		t.Fatalf("got %q", got)
	}
	for _, c := range plan.Machines[0].Candidates {
		if c.Price >= 500_000 {
			t.Errorf("candidate %+v costs no less than the node", c)
		}
	}
}

func TestConsolidationFacts(t *testing.T) {
	for name, c := range map[string]struct {
		types []offer.InstanceType
		given func(*world)
		want  string
	}{
		"CONS-002, CONS-016: another Provisioner has nothing to buy": {types: shop(), want: "n1 -> small", given: func(w *world) {
			w.provisioner("empty", consolidating)
			w.in.Provisioners[1].Types = nil
			w.node("n1", "large", "a", nil).replicas(2, "web", "n1", halfCore)
		}},
		"CONS-022: one of a hundred nodes is up, and a small one": {types: shop()[1:], want: "small ->", given: func(w *world) {
			for i := range 99 {
				w.node(fmt.Sprintf("n%02d", i), "medium", "a", func(n *cluster.Node) { n.Initialized = false }).replicas(1, "web", fmt.Sprintf("n%02d", i), halfCore)
			}
			w.node("up", "medium", "a", nil).replicas(4, "web", "up", halfCore)
			w.node("small", "small", "a", nil).replicas(1, "web", "small", halfCore)
		}},
		"CONS-040: both dear nodes for a smaller one": {types: shop(), want: "n1 n2 -> small", given: func(w *world) {
			w.node("n1", "large", "a", nil).node("n2", "large", "a", nil).replicas(2, "web", "n1", halfCore).replicas(1, "web", "n2", halfCore)
		}},
		"CONS-054: the spread stays as it is": {types: shop(), want: "n2 -> small", given: func(w *world) {
			const spread = halfCore + ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"
			for i, typ := range []string{"small", "large", "small"} {
				w.node(fmt.Sprintf("n%d", i+1), typ, []string{"a", "b", "c"}[i], nil).replicas(1, "web", fmt.Sprintf("n%d", i+1), spread)
			}
		}},
		"CONS-067: the Provisioner is gone": {types: shop(), want: "->", given: func(w *world) {
			w.node("n1", "large", "a", func(n *cluster.Node) { n.Provisioner = "gone" }).replicas(1, "web", "n1", halfCore)
		}},
		"CONS-072, CONS-074: pods that are going, have finished or are static hold nothing": {types: shop(), want: "n1 -> small", given: func(w *world) {
			w.node("n1", "large", "a", nil).replicas(3, "web", "n1", halfCore).replicas(1, "old", "n1", halfCore)
			p := &w.in.Snapshot.Pods[3]
			p.State, p.StopBy, p.Template = cluster.PodTerminating, noon.Add(-time.Hour), protected(p.Template, true, 0)
			w.finished("done", "n1", "labels: {app: old}, annotations: {karpenter.sh/do-not-evict: 'true'}").running("static", "n1", "owner: Node/n1, labels: {app: old}").budget("pdb", "app: old", 0)
		}},
		"DEPROV-019: a large pod that is pending needs the node": {types: shop(), want: "->", given: func(w *world) {
			w.node("n1", "large", "a", nil).replicas(1, "web", "n1", halfCore).pods(1, "huge", "requests: {cpu: 6}")
		}},
		"CONS-035, DISR-030: the longer protection decides": {types: shop(), want: "->", given: func(w *world) {
			w.node("n1", "large", "a", nil).replicas(2, "web", "n1", halfCore)
			for i, d := range []time.Duration{10 * time.Minute, time.Hour} {
				p := &w.in.Snapshot.Pods[i]
				p.Template, p.Since = protected(p.Template, false, d), noon.Add(-20*time.Minute)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.types).provisioner("default", consolidating)
			c.given(w)
			w.older()
			plan := w.decide()
			verify(t, &w.in, &plan)
			if got := consolidated(plan); got != c.want {
				t.Errorf("got %q, want %q: %s", got, c.want, why(plan, "n1"))
			}
			for i := range plan.Machines {
				if strings.HasPrefix(name, "CONS-054") && plan.Machines[i].Chosen().Zone != "b" {
					t.Errorf("the machine is in zone %s", plan.Machines[i].Chosen().Zone)
				}
			}
		})
	}
}

// begun marks a node as chosen for consolidation an hour ago, in a step of these nodes.
func begun(by string, step ...string) func(*cluster.Node) {
	return func(n *cluster.Node) {
		n.Annotations[api.AnnotationDisruption], n.Annotations[api.AnnotationReplacedBy] = api.ReasonConsolidation, by
		n.Annotations[api.AnnotationDisruptedAt], n.Annotations[api.AnnotationDisruptedWith] = noon.Add(-time.Hour).Format(time.RFC3339), strings.Join(step, ",")
		n.Taints = []corev1.Taint{{Key: api.TaintDisruption, Effect: corev1.TaintEffectNoSchedule}}
	}
}

// What was begun goes on as a whole.
func TestConsolidationThatWasBegun(t *testing.T) {
	verdicts := func(p Plan) string {
		var out []string
		for _, c := range p.Chosen {
			out = append(out, c.Node+" "+string(c.Verdict))
		}
		return strings.Join(out, ", ")
	}
	t.Run("CONS-042, CONS-036: pods came to two of three", func(t *testing.T) {
		w := newWorld(t, shop()).provisioner("default", consolidating)
		for i, pods := range []int{2, 2, 1} {
			w.node(fmt.Sprintf("n%d", i+1), "small", "a", begun("new", "n1", "n2", "n3")).replicas(pods, "web", fmt.Sprintf("n%d", i+1), halfCore)
		}
		w.node("new", "large", "a", nil).older()
		for i := range 4 {
			w.in.Snapshot.Pods[i].Since = noon.Add(-time.Minute)
		}
		if got := verdicts(w.decide()); got != "n1 stay, n2 stay, n3 stay" {
			t.Errorf("got %s", got)
		}
		for i := range w.in.Snapshot.Nodes {
			w.in.Snapshot.Nodes[i].Annotations, w.in.Snapshot.Nodes[i].Taints = map[string]string{}, nil
		}
		if got := consolidated(w.decide()); got != "n3 ->" {
			t.Errorf("got %s once the marks are gone, want n3 to go alone", got)
		}
	})
	t.Run("a pod came in the second in which the node was chosen, or before", func(t *testing.T) {
		for since, want := range map[time.Duration]string{0: "n1 stay", -time.Second: "n1 go"} { // times of objects have whole seconds
			w := newWorld(t, shop()).provisioner("default", consolidating)
			w.node("n1", "large", "a", begun("new")).replicas(2, "web", "n1", "requests: {cpu: 300m, memory: 500Mi}")
			w.node("new", "small", "a", nil).older()
			w.in.Snapshot.Pods[0].Since = noon.Add(-time.Hour).Add(since)
			if got := verdicts(w.decide()); got != want {
				t.Errorf("%s: got %s, want %s", since, got, want)
			}
		}
	})
	t.Run("CONS-055: a pod that comes gets room of its own", func(t *testing.T) {
		w := newWorld(t, shop()).provisioner("default", consolidating)
		w.node("n1", "large", "a", begun("new")).replicas(1, "web", "n1", "requests: {cpu: 1500m, memory: 1Gi}")
		w.node("new", "small", "a", nil).older().pods(1, "late", "requests: {cpu: 1500m, memory: 1Gi}")
		plan := w.decide()
		if len(plan.Machines) != 1 || len(plan.Machines[0].Pods) != 1 || verdicts(plan) != "n1 go" {
			t.Errorf("machines %v, %s", plan.Machines, verdicts(plan))
		}
	})
	t.Run("CONS-056: the new node is kept for them", func(t *testing.T) {
		w := newWorld(t, shop()).provisioner("default", consolidating)
		w.node("n1", "large", "a", begun("new")).replicas(5, "web", "n1", "requests: {cpu: 300m, memory: 500Mi}")
		w.node("new", "small", "a", nil).older()
		plan := w.decide()
		if len(plan.Removals) > 0 || verdicts(plan) != "n1 go" || slices.ContainsFunc(plan.Emptiness, func(m Emptiness) bool { return m.Node == "new" }) {
			t.Errorf("removals %v, %s", plan.Removals, verdicts(plan))
		}
	})
	t.Run("CONS-056: the new node is kept while the pod stops", func(t *testing.T) {
		for _, c := range []struct {
			kind              string
			stopSince, stopBy time.Duration // from now
			kept              bool
		}{
			{"StatefulSet", -time.Minute, time.Minute, true},
			{"Cache", -time.Minute, time.Minute, true},
			{"Cache", -6 * time.Minute, -5 * time.Minute, false}, // it does not go
			{"ReplicaSet", -time.Second, time.Minute, true},
			{"ReplicaSet", -10 * time.Second, time.Minute, false}, // its successor is there
			{"", -time.Second, time.Minute, false},
		} {
			w := newWorld(t, shop()).provisioner("default", consolidating)
			w.node("old", "large", "a", begun("new")).replicas(1, "db", "old", halfCore)
			w.node("new", "small", "a", nil).older()
			w.in.Snapshot.Nodes[slices.IndexFunc(w.in.Snapshot.Nodes, func(n cluster.Node) bool { return n.Name == "old" })].Deleting = true
			p := &w.in.Snapshot.Pods[0]
			p.State, p.Owner.Kind, p.StopSince, p.StopBy = cluster.PodTerminating, c.kind, noon.Add(c.stopSince), noon.Add(c.stopBy)
			if kept := len(w.decide().Emptiness) == 0; kept != c.kept {
				t.Errorf("%+v: kept is %v", c, kept)
			}
		}
	})
	t.Run("its room is taken", func(t *testing.T) {
		w := newWorld(t, shop()).provisioner("default", consolidating)
		w.node("n1", "large", "a", begun("")).replicas(2, "web", "n1", halfCore)
		w.node("n2", "small", "a", nil).replicas(3, "web", "n2", halfCore).older()
		plan := w.decide()
		if len(plan.Machines) > 0 || verdicts(plan) != "n1 stay" {
			t.Errorf("machines %v, %s", plan.Machines, verdicts(plan))
		}
	})
}

// Each node of a step waits for all machines of the step: if one of them cannot be had, no node of the step goes.
func TestNodesOfAStepWaitForAllItsMachines(t *testing.T) { // DISR-038
	w := newWorld(t, byName([]offer.InstanceType{sold("old", 8, 0.34), sold("new", 16, 0.5)}))
	w.provisioner("default", strings.Replace(consolidating, "requirements: [", "requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [new]}, ", 1))
	for i := range 5 {
		name := fmt.Sprintf("n%d", i+1)
		w.node(name, "old", "a", nil).replicas(2, "web", name, "requests: {cpu: 3, memory: 1Gi}")
	}
	plan := w.older().decide()
	if len(plan.Removals) != 5 || len(plan.Machines) != 2 {
		t.Fatalf("got %q, want a step of five nodes and two machines", consolidated(plan))
	}
	for _, r := range plan.Removals {
		if len(r.Replacements) != 2 {
			t.Errorf("node %s waits for %v, want both machines", r.Node, r.Replacements)
		}
	}
}

// Pods of nodes in use do not move to a node that nobody uses and that goes by itself: it costs more than they save.
func TestPodsDoNotMoveToIdleNodes(t *testing.T) {
	const two = "requests: {cpu: 3, memory: 1Gi}"
	shop := byName([]offer.InstanceType{sold("old", 8, 0.34), sold("vast", 16, 0.768)})
	for name, c := range map[string]struct {
		types   []offer.InstanceType
		change  func(*cluster.Node) // of the empty node
		budgets string              // besides 100%
		want    string
	}{
		"it goes when it has been empty for longer": {types: shop, want: "->"},
		"it stays in any case":                      {types: shop, change: func(n *cluster.Node) { n.Annotations[api.AnnotationDoNotDisrupt] = "true" }, want: "n1 n2 ->"},
		"a budget lets no empty node go":            {types: shop, budgets: "{nodes: '0', reasons: [emptiness]}", want: "n1 n2 ->"},
		"a budget lets some go":                     {types: shop, budgets: "{nodes: '1', reasons: [emptiness]}", want: "->"},
		"it is not up yet":                          {types: shop, change: func(n *cluster.Node) { n.Initialized, n.Ready = false, false }, want: "->"},
		"a cheaper machine is bought instead":       {types: byName(append(slices.Clone(shop), sold("cheap", 16, 0.5))), want: "n1 n2 -> cheap"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.types).provisioner("default", strings.Replace(consolidating, "{nodes: '100%'}", "{nodes: '100%'}, "+c.budgets, 1))
			w.node("empty", "vast", "a", c.change)
			w.node("n1", "old", "a", nil).replicas(2, "web", "n1", two)
			w.node("n2", "old", "a", nil).replicas(2, "web", "n2", two)
			plan := w.older().decide()
			verify(t, &w.in, &plan)
			if got := consolidated(plan); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A node in whose place no machine is bought for now goes only if its pods fit on other nodes.
func TestNodesThatAreNotReplacedNow(t *testing.T) {
	const until = "not all machines could be bought"
	w := newWorld(t, shop()).provisioner("default", consolidating)
	w.node("n1", "large", "a", nil).replicas(2, "web", "n1", halfCore)
	w.in.Unreplaced = map[string]string{"n1": until}
	if plan := w.older().decide(); consolidated(plan) != "->" || why(plan, "n1") != until {
		t.Errorf("got %q; it stays because %q", consolidated(plan), why(plan, "n1"))
	}
	w.node("n2", "medium", "a", nil).replicas(2, "web", "n2", halfCore)
	if plan := w.older().decide(); consolidated(plan) != "n1 ->" {
		t.Errorf("got %q beside a node with room", consolidated(plan))
	}
}
