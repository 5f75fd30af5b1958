package decide

import (
	"fmt"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// delayPatience is how long a marked node waits for what keeps it for a while, such as a PodDisruptionBudget. Its
// replacement is paid for meanwhile, and other nodes may not go. It is chosen again when that has passed.
const delayPatience = 30 * time.Minute

// chosenEarlier lists the nodes that an earlier plan has marked as going and that are not
// being deleted yet.
func (t *turn) chosenEarlier(nodes []*retire.Node) []*retire.Node {
	var out []*retire.Node
	for _, n := range nodes {
		if n.Mark().Own && !n.Deleting && !t.forced[n.Name] {
			out = append(out, n)
		}
	}
	return out
}

// cancelDisruptions finds the marked nodes that stay after all. Their pods stay as well, so
// that nothing is bought for them: it packs again without these nodes leaving.
func (t *turn) cancelDisruptions(nodes []*retire.Node, now attempt) attempt {
	marked := t.chosenEarlier(nodes)
	if len(marked) == 0 {
		return now
	}
	plan := t.render(now.problem, now.layout)
	to := t.destinations(&plan)
	budgets := retire.NewBudgets(nodes, t.in.Now, func(n *retire.Node) bool { return t.leaving[n.Name] })
	due := func(n *retire.Node) retire.DueNode {
		return retire.DueNode{Node: n, Reason: retire.Reason(n.Mark().Reason)}
	}
	returned := map[string]bool{}
	cancel := func(n *retire.Node, why string) {
		t.cancelled[n.Name] = why
		t.cancelSteps(marked)
		for _, n := range marked {
			if t.cancelled[n.Name] != "" && !returned[n.Name] {
				returned[n.Name] = true
				budgets.Return(due(n))
			}
		}
	}
	for _, n := range marked {
		if why := t.stays(n, to[n.Name]); why != "" && t.cancelled[n.Name] == "" {
			cancel(n, why)
		}
	}
	for _, n := range marked {
		if t.cancelled[n.Name] == "" && budgets.Exceeded(due(n)) {
			cancel(n, "a disruption budget of provisioner "+n.Provisioner.Name+" allows fewer nodes to go now")
		}
	}
	if len(t.cancelled) == 0 {
		return now
	}
	for name := range t.cancelled {
		delete(t.leaving, name)
	}
	return t.pack()
}

// cancelSteps lets the nodes stay that were to be replaced in a step of consolidation with one that stays: only
// the whole step is known to pay. Nodes whose pods share a replacement count as those of one step.
func (t *turn) cancelSteps(marked []*retire.Node) {
	of := map[string]string{} // a node that stays, by replacement
	for again := true; again; {
		again = false
		for _, n := range marked {
			mark := n.Mark()
			if mark.Reason != api.ReasonConsolidation {
				continue
			}
			for _, name := range mark.Replacements {
				switch other := of[name]; {
				case t.cancelled[n.Name] == "" && other != "":
					t.cancelled[n.Name] = "node " + other + ", which was to go in the same step, stays"
					again = true
				case t.cancelled[n.Name] != "" && other == "":
					of[name], again = n.Name, true
				}
			}
		}
	}
}

// chosen judges again the marked nodes: whether their reason still holds, nothing
// has come up that protects them, and all of their pods have a place on nodes that
// are up.
func (t *turn) chosen(nodes []*retire.Node, to map[string]*destinations) []Chosen {
	var out []Chosen
	for _, n := range t.chosenEarlier(nodes) {
		c := Chosen{Node: n.Name, Verdict: Go}
		if why := t.cancelled[n.Name]; why != "" {
			c.Verdict, c.Why = Stay, why
		} else if why := t.waits(n, to[n.Name]); why != "" {
			c.Verdict, c.Why = Wait, why
		}
		out = append(out, c)
	}
	return out
}

// stays returns what makes a marked node stay after all.
func (t *turn) stays(n *retire.Node, to *destinations) string {
	mark := n.Mark()
	reason := mark.Reason
	if reason == api.ReasonEmptiness && n.InUse() {
		return "it has workload pods again"
	}
	if !retire.StillHolds(n, reason, t.in.Now) {
		return "the reason for its " + reason + " no longer applies"
	}
	c := t.caseOf(retire.DueNode{Node: n})
	if why := c.Vetoed(); why != "" {
		return why
	}
	if why := c.Closed(); why != "" {
		return why
	}
	if why := c.Delayed(); why != "" && !mark.At.IsZero() && t.in.Now.Sub(mark.At) >= delayPatience {
		return fmt.Sprintf("%s, and %s have passed since the node was chosen", why, amount.ShortDuration(delayPatience))
	}
	if reason == api.ReasonConsolidation {
		if why := t.calledOff(n, to); why != "" {
			return why
		}
	}
	for _, name := range mark.Replacements {
		if r := t.in.Snapshot.Node(name); r == nil || r.Deleting {
			return fmt.Sprintf("its replacement %s is gone", name)
		}
	}
	return to.nowhere
}

// calledOff returns why a step of consolidation is given up that has not begun to evict: it
// was planned for other pods, or it does not pay any more.
func (t *turn) calledOff(n *retire.Node, to *destinations) string {
	chosen := n.Mark().At
	for _, p := range n.Pods {
		if !chosen.IsZero() && p.NeedsNode() && p.Since.After(chosen) {
			return "pod " + p.String() + " has come since it was chosen"
		}
	}
	if len(to.machines) > 0 {
		return "its pods would need more machines than were planned"
	}
	return ""
}

// waits returns what a marked node waits for.
func (t *turn) waits(n *retire.Node, to *destinations) string {
	for _, name := range n.Mark().Replacements {
		if r := t.in.Snapshot.Node(name); !r.Initialized {
			return fmt.Sprintf("its replacement %s is not up yet", name)
		}
	}
	if len(to.machines) > 0 {
		return "more machines are needed for its pods"
	}
	if len(to.starting) > 0 {
		return fmt.Sprintf("node %s, which will take some of its pods, is not up yet", to.starting[0])
	}
	return t.caseOf(retire.DueNode{Node: n}).Delayed()
}
