package decide

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// maxPackings bounds how often one decision tries to do without nodes in use: each attempt
// packs once more.
const maxPackings = 16

// maxEffort is how much work a decision's packings may have taken before another one, in
// the steps of pack: about a second.
const maxEffort = 100_000_000

// oldestShare is the part of both that may be used up, in percent, to do without the oldest nodes. If none of
// them can be spared, the rest is for others: otherwise these would never go.
const oldestShare = 75

// voluntary finds the nodes that go voluntarily.
type voluntary struct {
	*decision
	nodes    []*retire.Node
	budgets  *retire.Budgets
	now      attempt // the packing without those that go
	packings int
	share    int  // of maxPackings and maxEffort, in percent: what may be used up now
	spent    bool // it was used up
	going    []retire.DueNode
	kept     map[string]string // by node: why it stays
}

// retireVoluntarily lets nodes go voluntarily, as far as budgets and protections allow and
// all their pods have another place.
func (d *decision) retireVoluntarily(nodes []*retire.Node, now attempt) ([]Removal, []Kept, attempt) {
	d.nominate(nodes, now)
	v := &voluntary{decision: d, nodes: nodes, now: now, kept: map[string]string{}}
	v.budgets = retire.NewBudgets(nodes, d.in.Now, func(n *retire.Node) bool { return d.leaving[n.Name] || d.in.Begun[n.Name] })
	found := retire.Voluntary(d.staying(nodes), d.in.Now)
	used := v.retireUnused(found)
	v.share = oldestShare
	v.retireUsed(used)
	if v.spent && v.share == oldestShare {
		v.share = 100
		begin := int(uint64(d.in.Now.Unix()) / 7 % uint64(len(used))) // another one in most turns
		v.retireUsed(slices.Concat(used[begin:], used[:begin]))
	}
	var removals []Removal
	for _, one := range v.going {
		removals = append(removals, Removal{Node: one.Node.Name, Reason: one.Reason, Message: one.Message})
	}
	var kept []Kept
	for _, one := range found {
		if why := v.kept[one.Node.Name]; why != "" {
			kept = append(kept, Kept{Node: one.Node.Name, Reason: one.Reason, Why: why})
			delete(v.kept, one.Node.Name) // it may have other reasons too
		}
	}
	return removals, kept, v.now
}

// retireUnused lets the nodes go that nobody uses, each for its first reason that is allowed, and returns the
// others.
func (v *voluntary) retireUnused(found []retire.DueNode) (used []retire.DueNode) {
	for _, one := range found {
		why := v.caseOf(one).Protected()
		switch {
		case v.leaving[one.Node.Name]: // for an earlier reason
		case why != "":
			v.kept[one.Node.Name] = cmp.Or(v.kept[one.Node.Name], why)
		case one.Node.InUse():
			used = append(used, one)
		case v.take(one):
			v.goes(one)
		default:
			v.keepForBudget(one)
		}
	}
	return used
}

// retireUsed tries as many nodes at once as the budgets allow. What those of them
// that cannot be spared leave of the budgets is for the next ones.
func (v *voluntary) retireUsed(waiting []retire.DueNode) {
	for len(waiting) > 0 {
		var batch, rest []retire.DueNode
		free, _ := v.unprotected(waiting)
		for _, one := range free {
			if v.take(one) {
				batch = append(batch, one)
			} else {
				v.keepForBudget(one)
				rest = append(rest, one)
			}
		}
		if len(batch) == 0 {
			return
		}
		v.spare(batch)
		waiting = rest
	}
}

// spare lets all of the nodes go if their pods have other places. If not, it tries
// in two parts: those whose pods had places and the others, or else the halves.
func (v *voluntary) spare(batch []retire.DueNode) {
	batch, held := v.unprotected(batch) // by now, pods of others may be on their way to them
	v.giveBack(held)
	if len(batch) == 0 {
		return
	}
	if v.packings*100 >= maxPackings*v.share || v.effort*100 > maxEffort*int64(v.share) {
		v.spent = true
		v.giveBack(batch)
		return
	}
	v.packings++
	next, needed := v.without(batch)
	for _, one := range batch {
		v.kept[one.Node.Name] = needed[one.Node.Name]
	}
	switch {
	case len(needed) == 0:
		v.now, v.share = next, 100
		v.goes(batch...)
		v.nominate(v.nodes, v.now)
	case len(batch) == 1:
		v.giveBack(batch)
	default:
		first, second := consolidate.SplitBatch(batch, func(one retire.DueNode) bool { return needed[one.Node.Name] != "" })
		v.spare(first)
		v.spare(second)
	}
}

// goes notes nodes that go.
func (v *voluntary) goes(these ...retire.DueNode) {
	v.going = append(v.going, these...)
	for _, one := range these {
		v.leaving[one.Node.Name] = true
		delete(v.kept, one.Node.Name)
	}
}

func (v *voluntary) keepForBudget(one retire.DueNode) {
	why := "a disruption budget of provisioner " + one.Node.Provisioner.Name + " allows no more disruptions now"
	if !v.in.Begun[one.Node.Name] && v.budgets.Untried(one) {
		why = "no machine with the current configuration of provisioner " + one.Node.Provisioner.Name + " has come up yet: until then, drifted nodes are replaced one by one"
	}
	v.kept[one.Node.Name] = cmp.Or(v.kept[one.Node.Name], why)
}

// take asks the budgets for a node. One that has begun to go counts already.
func (v *voluntary) take(one retire.DueNode) bool {
	if v.in.Begun[one.Node.Name] {
		return !v.budgets.Exceeded(one)
	}
	return !v.budgets.Untried(one) && v.budgets.Take(one)
}

// giveBack returns to the budgets what nodes had taken that stay.
func (v *voluntary) giveBack(these []retire.DueNode) {
	for _, one := range these {
		if !v.in.Begun[one.Node.Name] {
			v.budgets.Return(one)
		}
		if v.kept[one.Node.Name] == "" {
			v.kept[one.Node.Name] = "other nodes are removed first"
		}
	}
}

// unprotected parts the nodes that nothing holds from those that something does.
func (v *voluntary) unprotected(found []retire.DueNode) (free, held []retire.DueNode) {
	for _, one := range found {
		if why := v.caseOf(one).Protected(); why != "" {
			v.kept[one.Node.Name] = why
			held = append(held, one)
		} else {
			free = append(free, one)
		}
	}
	return free, held
}

// without packs as if the nodes were leaving too. It says, by node, why one cannot
// be spared: a pod of it has no other place, or only on a machine that is not bought now, or another pod would lose its own.
func (v *voluntary) without(batch []retire.DueNode) (next attempt, needed map[string]string) {
	needed = map[string]string{}
	for _, one := range batch {
		v.leaving[one.Node.Name] = true
	}
	next = v.packed()
	for _, one := range batch {
		delete(v.leaving, one.Node.Name)
	}
	for i, place := range next.layout.Places {
		d := &next.problem.Pods[i]
		switch {
		case d.From == "" || v.leaving[d.From] || needed[d.From] != "":
		case !place.Placed():
			needed[d.From] = "pod " + d.Pod.String() + " cannot be placed elsewhere: " + place.Reason
		case place.Node == "" && v.in.Unreplaced[d.From] != "":
			needed[d.From] = v.in.Unreplaced[d.From]
		}
	}
	if len(needed) == 0 && !v.now.keepsPlaces(next) {
		for _, one := range batch {
			needed[one.Node.Name] = "pending pods need it"
		}
	}
	return next, needed
}
