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
func (s replayer) refill(sites []*assign.Site) bool {
	helped := false
	for some := true; some; {
		some = false
		for _, c := range s.Classes {
			if c.Left > 0 && !c.Missing.Missed() && s.refillClass(c, sites) {
				some, helped = true, true
			}
		}
	}
	return helped
}

func (s replayer) refillClass(c *assign.Class, sites []*assign.Site) bool {
	helped := false
	takes := func(l assign.Level) bool {
		o, ok := s.OptionsAt(c, l)
		return ok && slices.ContainsFunc(sites, func(to *assign.Site) bool { return s.letsIn(c, o, to) })
	}
	for l, ok := (assign.Level{}), true; ok && c.Left > 0; l, ok = c.Next(l, takes) {
		o, ok := s.OptionsAt(c, l)
		if !ok {
			continue
		}
		for _, to := range sites {
			for c.Left > 0 && s.squeeze(c, o, l, to) {
				helped = true
			}
		}
	}
	return helped
}

// letsIn reports whether a site has room for a pod of the class, and kube-scheduler
// would let it in.
func (s replayer) letsIn(c *assign.Class, o *model.Options, to *assign.Site) bool {
	if !model.Fits(c.Need, to.Free) {
		return false
	}
	if to.Machine && !o.Offerings.Has(s.Machines[to.Index].Offering) || !to.Machine && !s.Matches(o, to.Index) {
		return false
	}
	return s.Accepts(c, to, topology.AssignmentOf(c.Keys, to.Node))
}

// squeeze puts one pod of the class on the site, if that takes it.
func (s replayer) squeeze(c *assign.Class, o *model.Options, level assign.Level, to *assign.Site) bool {
	if !s.letsIn(c, o, to) {
		return false
	}
	at := topology.AssignmentOf(c.Keys, to.Node)
	if to.Machine {
		if !s.squeezeIn(c, o, level, to, at) {
			return false
		}
	} else {
		n := s.ExistingNodes[to.Index]
		model.AddTimes(n.Free, c.Need, -1)
		n.Counts = n.Counts.Plus(c.PerNode, 1)
		pods := slices.Clone(c.Take(1))
		s.OnNodes = append(s.OnNodes, assign.NodePlacement{Placement: assign.Placement{Class: c, Level: level, N: 1}, Node: n, Pods: pods})
		s.Places[pods[0]] = assign.Place{Node: n.Name, Machine: -1, GivenUp: c.GivenUp(level.Relaxed)}
	}
	model.AddTimes(to.Free, c.Need, -1)
	s.State.Place(c.Rules, to.NodeView, at, 1)
	return true
}

// squeezeIn puts a pod of the class on a planned machine that has room for it, if
// their labels go together.
func (s replayer) squeezeIn(c *assign.Class, o *model.Options, level assign.Level, to *assign.Site, at *topology.Assignment) bool {
	m := s.Machines[to.Index]
	pinned := o
	if len(c.Keys) > 0 {
		requires := o.Requires
		for i, key := range c.Keys {
			requires = requires.With(key, at.Domains[i].Set())
		}
		pinned = s.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, o.Honour)
	}
	l := &assign.PodGroup{Parts: []assign.Part{{Class: c, Level: level, N: 1}}, Opt: pinned, At: at, Mask: pinned.Offerings, Need: c.Need, Host: c.PerNode, Size: c.Size}
	if !l.Mask.Has(m.Offering) {
		return false
	}
	residual, ok := s.Merge(m.Residual, pinned.Residual[m.Pool.Number])
	if !ok || residual != m.Residual && !s.LeavesChoice(residual, &s.Offerings[m.Offering]) {
		return false
	}
	m = m.Clone()
	m.Pods, m.Placed = slices.Clone(m.Pods), slices.Clone(m.Placed)
	m.Add(l, 1, residual)
	m.Pods = append(m.Pods, c.Take(1)...)
	m.Placed = append(m.Placed, assign.Placement{Group: l, Class: c, Level: level, N: 1})
	s.Machines[to.Index] = m
	return true
}
