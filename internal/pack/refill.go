package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// refill gives pods without a place the room that is left on nodes and on planned
// machines, where kube-scheduler would let them in. It reports whether that helped
// any.
func (s replayer) refill(sites []*site) bool {
	helped := false
	for some := true; some; {
		some = false
		for _, c := range s.classes {
			if c.left > 0 && !c.never.Missed() && s.refillClass(c, sites) {
				some, helped = true, true
			}
		}
	}
	return helped
}

func (s replayer) refillClass(c *class, sites []*site) bool {
	helped := false
	takes := func(l level) bool {
		o, ok := s.optionsAt(c, l)
		return ok && slices.ContainsFunc(sites, func(to *site) bool { return s.letsIn(c, o, to) })
	}
	for l, ok := (level{}), true; ok && c.left > 0; l, ok = c.next(l, takes) {
		o, ok := s.optionsAt(c, l)
		if !ok {
			continue
		}
		for _, to := range sites {
			for c.left > 0 && s.squeeze(c, o, l, to) {
				helped = true
			}
		}
	}
	return helped
}

// letsIn reports whether a site has room for a pod of the class, and kube-scheduler
// would let it in.
func (s replayer) letsIn(c *class, o *model.Options, to *site) bool {
	if !model.Fits(c.Need, to.free) {
		return false
	}
	if to.machine && !o.Offerings.Has(s.machines[to.index].column) || !to.machine && !s.Matches(o, to.index) {
		return false
	}
	return s.accepts(c, to, topology.AssignmentOf(c.Keys, to.Node))
}

// squeeze puts one pod of the class on the site, if that takes it.
func (s replayer) squeeze(c *class, o *model.Options, level level, to *site) bool {
	if !s.letsIn(c, o, to) {
		return false
	}
	at := topology.AssignmentOf(c.Keys, to.Node)
	if to.machine {
		if !s.squeezeIn(c, o, level, to, at) {
			return false
		}
	} else {
		n := s.nodes[to.index]
		model.AddTimes(n.free, c.Need, -1)
		n.Counts = n.Counts.Plus(c.PerNode, 1)
		pods := slices.Clone(c.take(1))
		s.onNodes = append(s.onNodes, nodePlacement{placement{class: c, level: level, n: 1}, n, pods})
		s.places[pods[0]] = Place{Node: n.Name, Machine: -1, GivenUp: c.GivenUp(level.relaxed)}
	}
	model.AddTimes(to.free, c.Need, -1)
	s.state.Place(c.Rules, to.NodeView, at, 1)
	return true
}

// squeezeIn puts a pod of the class on a planned machine that has room for it, if
// their labels go together.
func (s replayer) squeezeIn(c *class, o *model.Options, level level, to *site, at *topology.Assignment) bool {
	m := s.machines[to.index]
	pinned := o
	if len(c.Keys) > 0 {
		requires := o.Requires
		for i, key := range c.Keys {
			requires = requires.With(key, at.Domains[i].Set())
		}
		pinned = s.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, o.Honour)
	}
	l := &lot{parts: []part{{class: c, level: level, n: 1}}, opt: pinned, at: at, mask: pinned.Offerings, need: c.Need, host: c.PerNode, size: c.size}
	if !l.mask.Has(m.column) {
		return false
	}
	residual, ok := s.Merge(m.residual, pinned.Residual[m.seller.Number])
	if !ok || residual != m.residual && !s.LeavesChoice(residual, &s.Offerings[m.column]) {
		return false
	}
	m = m.clone()
	m.pods, m.placed = slices.Clone(m.pods), slices.Clone(m.placed)
	m.add(l, 1, residual)
	m.pods = append(m.pods, c.take(1)...)
	m.placed = append(m.placed, placement{lot: l, class: c, level: level, n: 1})
	s.machines[to.index] = m
	return true
}
