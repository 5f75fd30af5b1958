package retire

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// budgeted is a Provisioner with these budgets.
func budgeted(name string, budgets ...api.Budget) *api.Provisioner {
	p := provisioner(func(s *api.ProvisionerSpec) { s.Disruption = &api.Disruption{Budgets: budgets} })
	p.Name = name
	return p
}

func fleet(p *api.Provisioner, n int) (out []*Node) {
	for i := range n {
		out = append(out, up(fmt.Sprintf("%s-%d", p.Name, i), p, web()))
	}
	return out
}

// may counts how many of the nodes the budgets let go for consolidation.
func may(nodes []*Node) (n int) {
	b := NewBudgets(nodes, noon, func(n *Node) bool { return n.Deleting })
	for _, one := range nodes {
		if !one.Deleting && one.Ready && b.Take(DueNode{Node: one, Reason: Consolidated}) {
			n++
		}
	}
	return n
}

func TestBudgetFacts(t *testing.T) {
	window := func(nodes, schedule string) api.Budget {
		return api.Budget{Nodes: api.NumberOrPercent(nodes), Schedule: ptr.To(schedule), Duration: ptr.To(metav1.Duration{Duration: 2 * time.Hour})}
	}
	for name, c := range map[string]struct {
		nodes func() []*Node
		want  int
	}{
		"DISR-001": {func() []*Node { return fleet(budgeted("p", api.Budget{Nodes: "20%"}), 19) }, 4},
		"DISR-003": {func() []*Node { return fleet(budgeted("p", window("1", "0 3 * * *")), 9) }, 9},
		"DISR-007": {func() []*Node { return fleet(budgeted("p", api.Budget{Nodes: "0"}), 9) }, 0},
		"DISR-009": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "1"}), 9)
			out[3].Ready = false
			return out
		}, 0},
		"DISR-010": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "10%"}), 11)
			out[3].Deleting, out[3].Pods = true, nil
			return out
		}, 1},
		"a machine whose termination is not confirmed": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "1"}), 9)
			out[3].Deleting, out[3].Finalizers, out[3].Pods = true, []string{api.Finalizer}, nil
			return out
		}, 0},
		"for long": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "1"}), 9)
			out[3].Deleting, out[3].Unterminated, out[3].Finalizers, out[3].Pods = true, true, []string{api.Finalizer}, nil
			return out
		}, 1},
		"of several machines for long": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "1"}), 9)
			for _, n := range out[3:5] {
				n.Deleting, n.Unterminated, n.Finalizers, n.Pods = true, true, []string{api.Finalizer}, nil
			}
			return out
		}, 0},
		"pods that have not stopped": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "1"}), 9)
			out[3].Deleting, out[3].Pods[0].State = true, cluster.PodTerminating
			return out
		}, 0},
		"pods of DaemonSets, which run until the machine ends": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "1"}), 9)
			out[3].Deleting, out[3].Pods[0].Template = true, &cluster.Template{DaemonSet: true}
			return out
		}, 1},
		"replacements that are starting": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "10%"}), 11)
			out[3].Deleting = true
			out[10].Initialized, out[10].Ready, out[10].Pods = false, false, nil
			return out
		}, 0},
		"replacements that are up": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "10%"}), 11)
			out[3].Deleting, out[3].Annotations[api.AnnotationReplacedBy] = true, out[10].Name
			return out
		}, 0},
		"replacements of nodes that have gone": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "10%"}), 12)
			out[3].Deleting, out[3].Pods, out[3].Annotations[api.AnnotationReplacedBy] = true, nil, out[10].Name
			return out
		}, 2},
		"one that goes before it was up": {func() []*Node {
			out := fleet(budgeted("p", api.Budget{Nodes: "10%"}), 11)
			out[10].Initialized, out[10].Deleting = false, true
			return out
		}, 0},
		"ten nodes in use": {func() []*Node { return fleet(budgeted("p", api.Budget{Nodes: "3"}), 10) }, 3},
		"DISR-013, CONS-059": {func() []*Node {
			return append(fleet(budgeted("p", api.Budget{Nodes: "1"}), 5), fleet(budgeted("q", api.Budget{Nodes: "1"}), 5)...)
		}, 2},
		"DISR-017": {func() []*Node { return fleet(budgeted("p", window("5", "0 11 * * *"), window("2", "30 11 * * *")), 9) }, 2},
	} {
		if got := may(c.nodes()); got != c.want {
			t.Errorf("%s: %d may go, want %d", name, got, c.want)
		}
	}
}

// Whether more go than a budget allows by now.
func TestBudgetExceeded(t *testing.T) { // DISR-015
	nodes := fleet(budgeted("p", api.Budget{Nodes: "1"}), 5)
	for going, want := range map[int]bool{1: false, 2: true} {
		b := NewBudgets(nodes, noon, func(n *Node) bool { return slices.Contains(nodes[:going], n) })
		if got := b.Exceeded(DueNode{Node: nodes[0], Reason: Consolidated}); got != want {
			t.Errorf("%d go: exceeded is %t", going, got)
		}
	}
}

// Nodes that go because they were empty do not use up the default budget. They do so if pods run there again, or if
// the budget is one that counts empty nodes.
func TestEmptyNodesThatGo(t *testing.T) {
	for name, c := range map[string]struct {
		budgets []api.Budget
		change  func(n *Node)
		want    bool
	}{
		"the default budget":                     {},
		"it is being deleted":                    {change: func(n *Node) { n.Deleting, n.Finalizers = true, []string{api.Finalizer} }},
		"pods run there again":                   {change: func(n *Node) { n.Pods = []*cluster.Pod{web()} }, want: true},
		"it goes for another reason":             {change: func(n *Node) { n.Annotations[api.AnnotationDisruption] = api.ReasonExpiry }, want: true},
		"it is not ready":                        {change: func(n *Node) { n.Ready = false }, want: true},
		"a budget of its own counts empty nodes": {budgets: []api.Budget{{Nodes: "1"}}, want: true},
	} {
		nodes := fleet(budgeted("p", c.budgets...), 10)
		empty := nodes[1]
		empty.Annotations[api.AnnotationDisruption], empty.Pods = api.ReasonEmptiness, nil
		if c.change != nil {
			c.change(empty)
		}
		b := NewBudgets(nodes, noon, func(n *Node) bool { return slices.Contains(nodes[:2], n) })
		if got := b.Exceeded(DueNode{Node: nodes[0], Reason: Consolidated}); got != c.want {
			t.Errorf("%s: exceeded is %t", name, got)
		}
	}
}

// How many may ever go at once does not depend on how many are going.
func TestBudgetTogether(t *testing.T) {
	only := func(reason string) api.Budget { return api.Budget{Nodes: "1", Reasons: []string{reason}} }
	for name, c := range map[string]struct {
		budgets []api.Budget
		want    int
	}{
		"a share, rounded up":    {[]api.Budget{{Nodes: "10%"}}, 2},
		"the least":              {[]api.Budget{{Nodes: "50%"}, {Nodes: "3"}}, 3},
		"none":                   {[]api.Budget{{Nodes: "0"}}, 0},
		"of the reason":          {[]api.Budget{only(api.ReasonConsolidation), {Nodes: "5"}}, 1},
		"another reason's":       {[]api.Budget{only(api.ReasonDrift)}, math.MaxInt},
		"the default, if unsaid": {nil, 2},
	} {
		nodes := fleet(budgeted("p", c.budgets...), 11)
		for going := range 2 {
			b := NewBudgets(nodes, noon, func(n *Node) bool { return slices.Contains(nodes[:going], n) })
			if got := b.Together(DueNode{Node: nodes[5], Reason: Consolidated}); got != c.want {
				t.Errorf("%s, while %d go: %d, want %d", name, going, got, c.want)
			}
		}
	}
}

// Until a machine of what the Provisioner describes now has come up, drifted nodes in use go one by one.
func TestUntried(t *testing.T) {
	changed := budgeted("p", api.Budget{Nodes: "100%"})
	changed.Spec.Labels = map[string]string{"revision": "2"}
	fresh := func(change func(*Node)) *Node {
		n := up("p-new", changed, web())
		n.Labels["revision"], n.Labels[api.LabelInstanceAMIID] = "2", "ami-2"
		n.Annotations[api.AnnotationProvisionerHash] = changed.Hash()
		change(n)
		return n
	}
	for name, c := range map[string]struct {
		fresh *Node
		going int
		gone  func(*Node) // what has become of those that go
		due   func(*DueNode)
		want  bool
	}{
		"the first one":                  {going: 0},
		"while it goes":                  {going: 1, want: true},
		"one that has come up":           {going: 1, fresh: fresh(func(*Node) {})},
		"one that has not come up":       {going: 1, fresh: fresh(func(n *Node) { n.Initialized, n.Ready = false, false }), want: true},
		"one that is not ready any more": {going: 1, fresh: fresh(func(n *Node) { n.Ready = false }), want: true},
		"one of another image":           {going: 1, fresh: fresh(func(n *Node) { n.Labels[api.LabelInstanceAMIID] = "ami-1" }), want: true},
		"one that goes for drift":        {going: 1, gone: func(n *Node) { n.Annotations[api.AnnotationDisruption] = api.ReasonDrift }, want: true},
		"one that goes for expiry":       {going: 1, gone: func(n *Node) { n.Annotations[api.AnnotationDisruption] = api.ReasonExpiry }},
		"one that is being drained":      {going: 1, gone: func(n *Node) { n.Deleting = true }},
		"one that never came up":         {going: 1, gone: func(n *Node) { n.Deleting, n.Initialized, n.Ready = true, false, false }, want: true},
		"for another reason":             {going: 1, due: func(d *DueNode) { d.Reason = Expired }},
		"a node without pods":            {going: 1, due: func(d *DueNode) { d.Node.Pods = nil }},
	} {
		nodes := fleet(changed, 9)
		for _, n := range nodes {
			n.Image = "ami-2"
		}
		due := DueNode{Node: nodes[8], Reason: Drifted}
		if c.due != nil {
			c.due(&due)
		}
		if c.fresh != nil {
			c.fresh.Provisioner = changed
			nodes = append(nodes, c.fresh)
		}
		for _, n := range nodes[:c.going] {
			if c.gone != nil {
				c.gone(n)
			}
		}
		b := NewBudgets(nodes, noon, func(n *Node) bool { return slices.Contains(nodes[:c.going], n) })
		if got := b.Untried(due); got != c.want {
			t.Errorf("%s: untried is %t", name, got)
		}
	}
}

// One that is not ready shows that a change does not work, also if the node in whose place it came has gone.
func TestUntriedAfterAFailure(t *testing.T) {
	nodes := fleet(budgeted("p", api.Budget{Nodes: "100%"}), 3)
	nodes[0].Ready, nodes[1].Image = false, "ami-2"
	if b := NewBudgets(nodes, noon, func(*Node) bool { return false }); !b.Untried(DueNode{Node: nodes[1], Reason: Drifted}) {
		t.Error("the next one goes")
	}
}

// That is so also for nodes that no budget counts.
func TestUntriedWithoutBudget(t *testing.T) {
	nodes := fleet(budgeted("p", api.Budget{Nodes: "10%", Reasons: []string{api.ReasonConsolidation}}), 9)
	for _, n := range nodes {
		n.Image = "ami-2"
	}
	b := NewBudgets(nodes, noon, func(*Node) bool { return false })
	first, second := DueNode{Node: nodes[0], Reason: Drifted}, DueNode{Node: nodes[1], Reason: Drifted}
	if b.Untried(first) || !b.Take(first) || !b.Untried(second) {
		t.Error("not the first one goes alone")
	}
	if b.Return(first); b.Untried(second) {
		t.Error("the second one does not go instead of the first one")
	}
}
