package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// refill gives pods without a place the room that is left on nodes and on planned
// machines, where kube-scheduler would let them in. It reports whether that helped
// any.
func (co confirmation) refill(nodes []*replayNode) bool {
	helped := false
	for some := true; some; {
		some = false
		co.RelateNodeSpreads() // each pod may let spreads go further
		for _, c := range co.Classes() {
			if c.WantsPlace() && co.refillClass(c, nodes) {
				some, helped = true, true
			}
		}
	}
	return helped
}

func (co confirmation) refillClass(c *assign.Class, nodes []*replayNode) bool {
	helped := false
	takes := func(l assign.Level) bool {
		o, ok := co.OptionsAt(c, l)
		return ok && slices.ContainsFunc(nodes, func(to *replayNode) bool { return co.letsIn(c, o, to) })
	}
	for l, ok := c.FirstLevel(0), true; ok && c.Left > 0; l, ok = c.Next(l, takes) {
		o, ok := co.OptionsAt(c, l)
		if !ok {
			continue
		}
		for _, to := range nodes {
			for c.Left > 0 && co.squeeze(c, o, l, to) {
				helped = true
			}
		}
	}
	return helped
}

// letsIn reports whether a node or machine has room for a pod of the class, and kube-scheduler
// would let it in.
func (co confirmation) letsIn(c *assign.Class, o *model.Options, to *replayNode) bool {
	if !model.Fits(c.Need, to.free) {
		return false
	}
	if to.machine && !o.Offerings.Has(co.Machines()[to.index].Offering) || !to.machine && !co.Matches(o, to.index) {
		return false
	}
	return co.accepts(c, to, topology.AssignmentOf(c.Keys, to.Node))
}

// squeeze puts one pod of the class on the node, if that takes it.
func (co confirmation) squeeze(c *assign.Class, o *model.Options, level assign.Level, to *replayNode) bool {
	if !co.letsIn(c, o, to) {
		return false
	}
	at := topology.AssignmentOf(c.Keys, to.Node)
	if !to.machine {
		co.Put(c, to.index, level, 1) // which takes it off the room that the node shares
	} else if co.squeezeIn(c, o, level, to, at) {
		co.State.EnterNode(c.Rules, at, to.Node, 1)
		model.AddTimes(to.free, c.Need, -1)
	} else {
		return false
	}
	co.State.CountOn(to.NodeView, c.PerNodeLate, 1)
	return true
}

// squeezeIn puts a pod of the class on a planned machine that has room for it, if
// their labels go together.
func (co confirmation) squeezeIn(c *assign.Class, o *model.Options, level assign.Level, to *replayNode, at *topology.DomainAssignment) bool {
	m := co.Machines()[to.index]
	pinned := o
	if len(c.Keys) > 0 {
		requires := o.Requires
		for i, key := range c.Keys {
			requires = requires.With(key, at.Domains[i].Set())
		}
		pinned = co.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, o.Honour)
	}
	if !pinned.Offerings.Has(m.Offering) {
		return false
	}
	residual, ok := co.Merge(m.Residual, pinned.Residual[m.Pool.Number])
	if !ok || residual != m.Residual && !co.LeavesChoice(residual, &co.Offerings[m.Offering]) {
		return false
	}
	g := &assign.PodGroup{Parts: []assign.Part{{Class: c, Level: level, N: 1}}, N: 1, Opt: pinned, At: at, Mask: pinned.Offerings, Need: c.Need, PerNode: c.PerNode, Size: c.Size}
	co.Extend(to.index, g, 1, residual)
	return true
}
