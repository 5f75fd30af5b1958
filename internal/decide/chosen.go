package decide

import (
	"fmt"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// delayPatience is how long a marked node waits for what keeps it for a while, such as a PodDisruptionBudget.
// Meanwhile, its replacement is paid for, and other nodes may not go. After that, the node stays until it is
// chosen again.
const delayPatience = 30 * time.Minute

// chosenEarlier lists the nodes that an earlier plan has marked as going and that are not
// being deleted yet.
func (d *decision) chosenEarlier(nodes []*retire.Node) []*retire.Node {
	var out []*retire.Node
	for _, n := range nodes {
		if n.Mark().Own && !n.Deleting && !d.forced[n.Name] {
			out = append(out, n)
		}
	}
	return out
}

// cancelDisruptions finds the marked nodes that stay after all. Their pods stay as well, so
// that nothing is bought for them: it packs again without these nodes leaving.
func (d *decision) cancelDisruptions(nodes []*retire.Node, now attempt) attempt {
	marked := d.chosenEarlier(nodes)
	if len(marked) == 0 {
		return now
	}
	plan := d.render(now.problem, now.layout)
	to := d.destinations(&plan)
	budgets := retire.NewBudgets(nodes, d.in.Now, func(n *retire.Node) bool { return d.leaving[n.Name] })
	due := func(n *retire.Node) retire.DueNode {
		return retire.DueNode{Node: n, Reason: retire.Reason(n.Mark().Reason)}
	}
	returned := map[string]bool{}
	cancelSteps := func() {
		d.cancelSteps(marked)
		for _, n := range marked {
			if d.cancelled[n.Name] != "" && !returned[n.Name] {
				returned[n.Name] = true
				budgets.Return(due(n))
			}
		}
	}
	cancel := func(n *retire.Node, why string) {
		d.cancelled[n.Name] = why
		cancelSteps()
	}
	cancelSteps() // of which not all nodes were marked, or not all marks were removed
	for _, n := range marked {
		if why := d.stays(n, to[n.Name]); why != "" && d.cancelled[n.Name] == "" {
			cancel(n, why)
		}
	}
	for _, n := range marked {
		if d.cancelled[n.Name] == "" && budgets.Exceeded(due(n)) {
			cancel(n, "a disruption budget of provisioner "+n.Provisioner.Name+" allows fewer nodes to go now")
		}
	}
	if len(d.cancelled) == 0 {
		return now
	}
	for name := range d.cancelled {
		delete(d.leaving, name)
	}
	return d.packed()
}

// cancelSteps lets the nodes stay that were to go in a step of consolidation with one that stays: only the whole step
// is known to pay. If the agent ends, or a change fails, while it marks the nodes of a step or removes their marks, some
// of them are marked and others are not.
func (d *decision) cancelSteps(marked []*retire.Node) {
	stays := func(name string, mark cluster.NodeMark) bool {
		n := d.in.Snapshot.Node(name)
		since := n != nil && !mark.At.IsZero() && n.Created.After(mark.At) // then it only has the name
		return n != nil && !since && (d.cancelled[name] != "" || !d.leaving[name])
	}
	for again := true; again; {
		again = false
		for _, n := range marked {
			mark := n.Mark()
			i := slices.IndexFunc(mark.Step, func(name string) bool { return name != n.Name && stays(name, mark) })
			if i >= 0 && d.cancelled[n.Name] == "" {
				d.cancelled[n.Name] = "node " + mark.Step[i] + ", which was to go in the same step, stays"
				again = true
			}
		}
	}
}

// chosen checks the marked nodes again: whether their reason still holds, nothing protects them
// by now, and all of their pods have a place on nodes that are up.
func (d *decision) chosen(nodes []*retire.Node, to map[string]*destinations) []Chosen {
	var out []Chosen
	for _, n := range d.chosenEarlier(nodes) {
		c := Chosen{Node: n.Name, Verdict: Go}
		if why := d.cancelled[n.Name]; why != "" {
			c.Verdict, c.Why = Stay, why
		} else if why := d.waits(n, to[n.Name]); why != "" {
			c.Verdict, c.Why = Wait, why
		}
		out = append(out, c)
	}
	return out
}

// stays returns what makes a marked node stay after all.
func (d *decision) stays(n *retire.Node, to *destinations) string {
	mark := n.Mark()
	reason := mark.Reason
	if reason == api.ReasonEmptiness && n.InUse() {
		return "it has workload pods again"
	}
	if !retire.StillHolds(n, reason, d.in.Now) {
		return "the reason for its " + reason + " no longer applies"
	}
	c := d.caseOf(retire.DueNode{Node: n})
	if why := c.Vetoed(); why != "" {
		return why
	}
	if why := c.Closed(); why != "" {
		return why
	}
	if why := c.Delayed(); why != "" && !mark.At.IsZero() && d.in.Now.Sub(mark.At) >= delayPatience {
		return fmt.Sprintf("%s, and %s have passed since the node was chosen", why, amount.ShortDuration(delayPatience))
	}
	for _, name := range mark.Replacements {
		switch r := d.in.Snapshot.Node(name); {
		case r == nil || r.Deleting:
			return fmt.Sprintf("its replacement %s is gone", name)
		case d.in.Settings.Late(r, d.in.Now): // it may be there for long, because other pods run there
			return fmt.Sprintf("its replacement %s did not come up in time", name)
		}
	}
	if reason == api.ReasonConsolidation {
		if why := d.calledOff(n, to); why != "" {
			return why
		}
	}
	return to.nowhere
}

// calledOff returns why a step of consolidation that has not begun to evict is cancelled: it
// was planned for other pods, or it does not pay any more.
func (d *decision) calledOff(n *retire.Node, to *destinations) string {
	chosen := n.Mark().At
	for _, p := range n.Pods {
		if !chosen.IsZero() && p.NeedsNode() && !p.Since.Before(chosen) {
			return "pod " + p.String() + " has come since it was chosen"
		}
	}
	if len(to.machines) > 0 {
		return "its pods would need more machines than were planned"
	}
	return ""
}

// waits returns what a marked node waits for.
func (d *decision) waits(n *retire.Node, to *destinations) string {
	for _, name := range n.Mark().Replacements {
		if r := d.in.Snapshot.Node(name); !r.Initialized {
			return fmt.Sprintf("its replacement %s is not up yet", name)
		}
	}
	if len(to.machines) > 0 {
		return "more machines are needed for its pods"
	}
	if len(to.starting) > 0 {
		return fmt.Sprintf("node %s, which will take some of its pods, is not up yet", to.starting[0])
	}
	if to.unready != "" { // for a while; see ContactPatience
		return fmt.Sprintf("node %s, which will take some of its pods, is not ready", to.unready)
	}
	return d.caseOf(retire.DueNode{Node: n}).Delayed()
}
