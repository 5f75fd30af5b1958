package retire

import (
	"math"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Budgets count how many nodes of each Provisioner may still be disrupted voluntarily.
type Budgets struct {
	now   time.Time
	total map[string]int // nodes that are up or have been, by Provisioner
	going map[string]int // how many are being removed or are not ready
	// trying counts the nodes that tell whether a change of their Provisioner works, whether a budget counts them or
	// not: the drifted ones in use that are let go, and those that are not ready.
	trying map[string]int
	// proven returns the images with which a machine has come up that is as its Provisioner describes it now.
	proven func() map[launch]bool
}

// launch is what a new machine is built from.
type launch struct{ provisioner, image string }

// NewBudgets counts the nodes, of which some are leaving already. A total has the nodes that are up or have
// been. It does not have those that replace a node which is still there: if it did, nodes that go would let
// more go, and half of the nodes would become all. Nor does it have one node of each Provisioner whose machine the
// cloud has refused for long to terminate, because a person may have protected it: it does not hold up the others. If
// there are more of them, the cloud may refuse all, and each node that goes is paid for beside its replacement.
func NewBudgets(nodes []*Node, now time.Time, leaving func(*Node) bool) *Budgets {
	b := &Budgets{now: now, total: map[string]int{}, going: map[string]int{}, trying: map[string]int{}}
	b.proven = sync.OnceValue(func() map[launch]bool { return proven(nodes, now) }) // only drift asks
	replaces := map[string]bool{}
	for _, n := range nodes {
		if leaving(n) && !n.ended() {
			for _, name := range n.Mark().Replacements {
				replaces[name] = true
			}
		}
	}
	spared := map[string]bool{}
	for _, n := range nodes {
		name := n.Provisioner.Name
		if n.ended() {
			continue
		}
		if n.Unterminated && !spared[name] {
			spared[name] = true
			continue
		}
		if n.Initialized && !replaces[n.Name] {
			b.total[name]++
		}
		unready := n.Initialized && !n.Ready
		if leaving(n) && !n.unbudgeted() || unready {
			b.going[name]++
		}
		if !n.drains() && (leaving(n) && n.mayHaveDrifted() || unready) {
			b.trying[name]++
		}
	}
	return b
}

// unbudgeted reports whether a node goes because it was empty, and no budget counts it.
func (n *Node) unbudgeted() bool {
	return n.Mark().Reason == api.ReasonEmptiness && len(budgetsOf(n)) == 0
}

// drains reports whether a node that has been up is being drained. Its replacements came up before that, so that it
// does not tell whether they do, and its drain may take for ever.
func (n *Node) drains() bool { return n.Deleting && n.Initialized }

// mayHaveDrifted reports whether a leaving node goes for drift, or has no mark because its replacement is still being
// bought or it never came up.
func (n *Node) mayHaveDrifted() bool {
	reason := n.Mark().Reason
	return reason == api.ReasonDrift || reason == ""
}

func proven(nodes []*Node, now time.Time) map[launch]bool {
	out := map[launch]bool{}
	for _, n := range nodes {
		if n.ended() || !n.Initialized || !n.Ready {
			continue
		}
		if _, is := drifted(n, now); !is {
			out[launch{n.Provisioner.Name, n.Labels[api.LabelInstanceAMIID]}] = true
			out[launch{n.Provisioner.Name, ""}] = true // for types whose image is not known
		}
	}
	return out
}

// ended reports whether only the Node object of a node is left to wait for. Pods that have not stopped yet are
// disrupted as much as those that have not been evicted. A node has the agent's finalizer until the cloud has
// confirmed that its machine is terminating: if the cloud refuses that, the node is paid for beside its replacement.
func (n *Node) ended() bool {
	return n.Deleting && !n.HeldBy(api.Finalizer) && !slices.ContainsFunc(n.Pods, func(p *cluster.Pod) bool { return !p.Template.BelongsToNode() })
}

// Untried reports whether another node of the Provisioner is going for drift, or is not ready, while no machine with
// the current configuration of the Provisioner has come up yet. Drifted nodes in use go one by one until then, so
// that an image that does not boot costs one machine at a time.
func (b *Budgets) Untried(due DueNode) bool {
	n := due.Node
	return tries(due) && b.trying[n.Provisioner.Name] > 0 && !b.proven()[launch{n.Provisioner.Name, n.Image}]
}

func tries(due DueNode) bool { return due.Reason == Drifted && due.Node.InUse() }

// Take lets a node go, or reports false where a budget forbids it. The default
// budget does not hold back nodes that nobody uses: removing them disrupts
// nothing. A node in use does not go shortly before a budget begins that allows none.
func (b *Budgets) Take(due DueNode) bool {
	name := due.Node.Provisioner.Name
	none := func(soon api.Budget) bool { return allowed(soon.Nodes, b.total[name]) == 0 }
	if due.Node.InUse() && slices.ContainsFunc(b.concerned(due, b.now.Add(replacing)), none) {
		return false
	}
	concerned := b.concerned(due, b.now)
	for _, budget := range concerned {
		if b.going[name] >= allowed(budget.Nodes, b.total[name]) {
			return false
		}
	}
	b.count(due, concerned, 1)
	return true
}

// Together is how many nodes the budgets that count the node let go at the same time when no
// other one is going.
func (b *Budgets) Together(due DueNode) int {
	most := math.MaxInt
	for _, budget := range b.concerned(due, b.now) {
		most = min(most, allowed(budget.Nodes, b.total[due.Node.Provisioner.Name]))
	}
	return most
}

// Return undoes Take: the node stays after all.
func (b *Budgets) Return(due DueNode) {
	b.count(due, b.concerned(due, b.now), -1)
}

// count counts a node that budgets are concerned with, or one that shows whether a change works.
func (b *Budgets) count(due DueNode, concerned []api.Budget, n int) {
	name := due.Node.Provisioner.Name
	if len(concerned) > 0 {
		b.going[name] += n
	}
	if tries(due) {
		b.trying[name] += n
	}
}

// Exceeded reports whether a node that was chosen earlier is to stay for a budget that counts it: because the
// budget allows no node to go now, or, if the node was chosen for consolidation, fewer than are going.
// Consolidation takes from the budgets last. What was taken for other reasons may have been joined
// since by nodes that budgets do not hold back.
func (b *Budgets) Exceeded(due DueNode) bool {
	name := due.Node.Provisioner.Name
	return slices.ContainsFunc(b.concerned(due, b.now), func(budget api.Budget) bool {
		most := allowed(budget.Nodes, b.total[name])
		return most == 0 || due.Reason == Consolidated && b.going[name] > most
	})
}

// concerned lists the budgets that count the node at a time.
func (b *Budgets) concerned(due DueNode, at time.Time) []api.Budget {
	var out []api.Budget
	for _, budget := range budgetsOf(due.Node) {
		applies := len(budget.Reasons) == 0 || slices.Contains(budget.Reasons, string(due.Reason))
		if applies && budget.Active(at) {
			out = append(out, budget)
		}
	}
	return out
}

func budgetsOf(n *Node) []api.Budget {
	switch d := n.Provisioner.Spec.Disruption; {
	case d != nil && len(d.Budgets) > 0:
		return d.Budgets
	case n.InUse():
		return []api.Budget{{Nodes: api.DefaultBudget}}
	}
	return nil
}

// allowed is the number of nodes that a budget stands for; a share is rounded up.
// What is neither a number nor a percentage allows nothing.
func allowed(nodes api.NumberOrPercent, total int) int {
	budget := intstr.Parse(string(nodes))
	n, err := intstr.GetScaledValueFromIntOrPercent(&budget, total, true)
	if err != nil {
		return 0
	}
	return n
}
