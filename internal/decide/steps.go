package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// maxStepPackings bounds the packings by which steps are verified in a decision.
const maxStepPackings = 8

// take lets the steps go that are due, as far as budgets allow. What those of them that cannot be carried
// out leave of the budgets is for the next ones.
func (c *consolidator) take(steps []consolidate.Step) {
	var waiting []int
	for i := range steps {
		st := &steps[i]
		shown := Step{Nodes: st.Nodes, Moves: len(st.Places), Machines: len(st.Machines), Saving: c.billed(st.Saving, st.Fewer), Cost: st.Cost, Due: st.Due}
		if st.Due.After(c.in.Now) {
			shown.Blocker, shown.Why = retire.BlockedUnpaid, "it has not wasted enough yet to pay for the moves"
			c.wakeAt(st.Due)
		} else {
			waiting = append(waiting, i)
		}
		c.out.Steps = append(c.out.Steps, shown)
	}
	for len(waiting) > 0 && !c.spent() {
		empty, bought, rest := c.permitted(steps, waiting)
		if len(rest) == len(waiting) {
			break
		}
		c.try(steps, empty)
		for _, i := range bought {
			c.try(steps, []int{i})
		}
		waiting = rest
	}
	for _, i := range waiting {
		c.out.Steps[i].Blocker, c.out.Steps[i].Why = retire.BlockedBudget, "a disruption budget allows no more now"
		if c.takeAll(steps[i].Nodes) {
			c.giveBack(steps[i].Nodes)
			c.out.Steps[i].Blocker, c.out.Steps[i].Why = retire.BlockedUnpaid, notTried
		}
	}
}

// billed is what the bill falls by where so much is saved with so many nodes fewer: nobody is billed for what nodes cost
// beyond their prices. With fewer nodes it may rise.
func (c *consolidator) billed(saving offer.Price, fewer int) offer.Price {
	return max(0, saving-c.in.Settings.nodeCost()*offer.Price(fewer))
}

// permitted takes steps from the budgets: those that need no machines, which are tried all together, and the
// others, which are tried one by one. The rest is what the budgets do not allow beside them.
func (c *consolidator) permitted(steps []consolidate.Step, waiting []int) (empty, bought, rest []int) {
	for _, i := range waiting {
		switch {
		case !c.takeAll(steps[i].Nodes):
			rest = append(rest, i)
		case len(steps[i].Machines) == 0:
			empty = append(empty, i)
		default:
			bought = append(bought, i)
		}
	}
	return empty, bought, rest
}

// spent reports whether as many steps have been tried as may be in a decision.
func (c *consolidator) spent() bool { return c.packings >= maxStepPackings || c.effort > maxEffort }

// notTried is why a step that budgets allow is not taken: the decision has tried as many steps
// as it may.
const notTried = "other steps are taken first"

// takeAll takes all of the nodes from the budgets, or none.
func (c *consolidator) takeAll(nodes []string) bool {
	for i, name := range nodes {
		if !c.budgets.Take(c.dueNode(name)) {
			c.giveBack(nodes[:i])
			return false
		}
	}
	return true
}

func (c *consolidator) giveBack(nodes []string) {
	for _, name := range nodes {
		c.budgets.Return(c.dueNode(name))
	}
}

func (c *consolidator) dueNode(name string) retire.DueNode {
	return retire.DueNode{Node: c.nodes[name], Reason: retire.Consolidated}
}

// try verifies steps against everything that there is, and takes them if they hold. If
// not, it tries their halves.
func (c *consolidator) try(steps []consolidate.Step, these []int) {
	if len(these) == 0 {
		return
	}
	why := notTried
	if !c.spent() {
		c.packings++
		before := len(c.now.layout.Machines)
		if why = c.takeOver(steps, these); why == "" {
			for _, i := range these {
				c.out.Steps[i].Going = true
			}
			// Steps with machines are tried one by one, and the packing may have needed fewer or more of them.
			c.out.Steps[these[0]].Machines = max(0, len(c.now.layout.Machines)-before)
			return
		}
		if len(these) > 1 {
			c.try(steps, these[:len(these)/2])
			c.try(steps, these[len(these)/2:])
			return
		}
	}
	for _, i := range these {
		c.giveBack(steps[i].Nodes)
		c.out.Steps[i].Blocker, c.out.Steps[i].Why = retire.BlockedUnpaid, why
		if why != notTried { // it cannot be carried out, so that there is nothing to save
			c.out.Steps[i].Saving = 0
		}
	}
}

// takeOver packs as if the nodes of the steps were leaving, with all pods and constraints of the
// cluster. It adopts the packing, or returns why it cannot. In that case the hints stay: nothing reads
// those of nodes that do not leave.
func (c *consolidator) takeOver(steps []consolidate.Step, these []int) (why string) {
	var nodes []string
	going, saving := slices.Clone(c.going), offer.Price(0)
	for _, i := range these {
		st := &steps[i]
		nodes, going = append(nodes, st.Nodes...), append(going, st.Nodes)
		saving += st.Saving
		for _, at := range st.Places {
			if at.Node != "" {
				c.hints[at.Pod] = at.Node
			}
		}
	}
	for _, name := range nodes {
		c.leaving[name] = true
	}
	next := c.packed()
	machines, kept, costly := c.restrict(next, going)
	why = cmp.Or(c.fault(next, steps, these), costly)
	// What the steps before save does not pay for these: they may have taken the last of what is cheap.
	if why == "" && kept-c.kept < saving/2 {
		why = "the machines that its pods would need cost too much"
	}
	if why != "" {
		for _, name := range nodes {
			delete(c.leaving, name)
		}
		return why
	}
	if saved := kept - c.kept; len(these) == 1 && saved < saving {
		c.out.Steps[these[0]].Saving = c.billed(saved, len(nodes)-len(next.layout.Machines)+len(c.now.layout.Machines))
	}
	next.layout.Machines = machines
	c.now, c.kept, c.going = next, kept, going
	return ""
}

// restrict restricts the machines that take the pods of steps, each of which is given by its nodes. It does so step by
// step: what one saves does not pay for an expensive machine of another. It returns all machines of the packing, and what the
// steps save at least, and why one of them may not be taken; empty if all may.
func (c *consolidator) restrict(next attempt, steps [][]string) (machines []pack.Machine, saving offer.Price, why string) {
	machines = slices.Clone(next.layout.Machines)
	take := map[string][]int{} // by node: the machines that take its pods
	for k := range machines {
		for _, pod := range machines[k].Pods {
			from := next.problem.Pods[pod].From
			take[from] = append(take[from], k)
		}
	}
	var each []joined[int]
	for _, nodes := range steps {
		st := joined[int]{nodes: nodes}
		for _, name := range nodes {
			st.machines = append(st.machines, take[name]...)
		}
		each = append(each, st)
	}
	for _, st := range join(each) {
		var cost offer.Price
		spot := false
		for _, name := range st.nodes {
			cost += c.costOf(c.nodes[name])
			spot = spot || c.nodes[name].Labels[api.LabelCapacityType] == api.CapacitySpot
		}
		var its []pack.Machine
		for _, k := range st.machines {
			its = append(its, machines[k])
		}
		replacement := consolidate.Restrict(its, cost, spot)
		saved, why := replacement.Saving()
		if why != "" {
			return nil, 0, why
		}
		saving += saved
		for i, k := range st.machines {
			machines[k] = replacement.Machines[i]
		}
	}
	return machines, saving, ""
}

// fault says which pod lacks the place that it should have; empty if none does. Pods that wait, or whose nodes
// leave for another reason, keep the room that they have on nodes: they need not wait for a machine. A step of its own
// for whose pods no machine was planned may need one all the same, because the planner looked only at a few other nodes.
func (c *consolidator) fault(next attempt, steps []consolidate.Step, these []int) string {
	deleted, replaced := map[string]bool{}, len(these) == 1 // without a machine in their place, and whether they may have one
	going := slices.Concat(c.going...)
	for _, i := range these {
		going = append(going, steps[i].Nodes...)
		for _, name := range steps[i].Nodes {
			deleted[name] = len(steps[i].Machines) == 0
			replaced = replaced && c.in.Unreplaced[name] == ""
		}
	}
	placed := map[cluster.PodKey]bool{} // on nodes
	for i, place := range c.now.layout.Places {
		placed[c.now.problem.Pods[i].Pod.PodKey] = place.Node != ""
	}
	for i, place := range next.layout.Places {
		d := &next.problem.Pods[i]
		switch {
		case d.From == "" || !slices.Contains(going, d.From):
			if placed[d.Pod.PodKey] && place.Node == "" {
				return needed
			}
		case !place.Placed():
			return "pod " + d.Pod.String() + " would have no other place: " + place.Reason
		case deleted[d.From] && (place.Machine >= 0 && place.Node == "" && !replaced || c.busy[place.Node]):
			return "pod " + d.Pod.String() + " would have no place on the nodes that stay"
		}
	}
	if !c.now.keepsPlaces(next) {
		return needed
	}
	return ""
}

// needed is why a step is not taken that would take the room of other pods.
const needed = "pods that wait for a place need it"

// joined are nodes that go together, and the machines that replace them.
type joined[M cmp.Ordered] struct {
	nodes    []string
	machines []M
}

// join makes one step of those whose pods share a machine, and sorts its nodes and machines.
func join[M cmp.Ordered](steps []joined[M]) (out []joined[M]) {
	for _, next := range steps {
		out = slices.DeleteFunc(out, func(one joined[M]) bool {
			shares := slices.ContainsFunc(one.machines, func(m M) bool { return slices.Contains(next.machines, m) })
			if shares {
				next.nodes, next.machines = slices.Concat(next.nodes, one.nodes), slices.Concat(next.machines, one.machines)
			}
			return shares
		})
		out = append(out, joined[M]{slices.Sorted(slices.Values(next.nodes)), slices.Compact(slices.Sorted(slices.Values(next.machines)))})
	}
	return out
}

// joinSteps lets each node of a step that goes wait for all machines of the step, and know the others: only the whole
// step is known to pay, and a machine may not be had.
func joinSteps(c *Consolidation, to map[string]*destinations) {
	if c == nil {
		return
	}
	var going []joined[string]
	for i := range c.Steps {
		if !c.Steps[i].Going {
			continue
		}
		st := joined[string]{nodes: c.Steps[i].Nodes}
		for _, name := range st.nodes {
			st.machines = append(st.machines, to[name].machines...)
		}
		going = append(going, st)
	}
	for _, st := range join(going) {
		for _, name := range st.nodes {
			to[name].machines = st.machines
			if len(st.nodes) > 1 {
				to[name].step = st.nodes
			}
		}
	}
}

func (c *consolidator) removals() []Removal {
	var out []Removal
	for i := range c.out.Steps {
		st := &c.out.Steps[i]
		if !st.Going {
			continue
		}
		for _, name := range st.Nodes {
			out = append(out, Removal{Node: name, Reason: Consolidated, Message: st.words(), Saving: st.Saving / offer.Price(len(st.Nodes))})
		}
	}
	return out
}

// words say why the nodes of a step go.
func (s *Step) words() string {
	whose, on := fmt.Sprintf("its %d pods fit", s.Moves), "on other nodes"
	cheaper, which := "", "takes fewer nodes"
	if s.Saving > 0 {
		cheaper, which = "cheaper ", fmt.Sprintf("saves $%.4f per hour", s.Saving.Dollars())
	}
	switch {
	case len(s.Nodes) > 1:
		whose = fmt.Sprintf("the %d pods of %s fit", s.Moves, strings.Join(s.Nodes, ", "))
	case s.Moves == 1:
		whose = "its pod fits"
	}
	switch {
	case s.Machines == 1:
		on = "on a " + cheaper + "machine"
	case s.Machines > 1:
		on = fmt.Sprintf("on %d %smachines", s.Machines, cheaper)
	}
	return whose + " " + on + ", which " + which
}
