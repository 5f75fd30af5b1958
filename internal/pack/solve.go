package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Solve finds a place for every pod that can have one. Nodes that exist are
// filled first, machines are bought for the rest, preferences are given up one
// by one where that is needed.
func Solve(p *Problem) *Layout {
	if len(p.Pods) == 0 {
		return &Layout{} // as most of the time
	}
	binding, e := make(limits, len(p.Provisioners)), model.NewEffort(p.Pods, len(p.Snapshot.Nodes))
	for {
		s := reordered(p, binding, e)
		if !binding.tighten(s) {
			return s.layout()
		}
		e.Again()
	}
}

// reordered places all pods, again in another order where some are crowded out.
func reordered(p *Problem, binding limits, e *model.Effort) *solver {
	s := solved(p, binding, e, nil)
	for range maxReorders {
		urgent := s.crowdedOut()
		if len(urgent) == 0 {
			break
		}
		again := solved(p, binding, e, urgent)
		if !again.serves(s) {
			break
		}
		s = again
	}
	return s
}

// maxReorders bounds how often all is placed anew in another order.
const maxReorders = 3

// solved places all pods, those of the urgent classes before others of their priority.
func solved(p *Problem, binding limits, e *model.Effort, urgent map[int]bool) *solver {
	s := newSolver(p, binding, e)
	s.hurry(urgent)
	s.settleReserved()
	s.rounds()
	if s.unjust() {
		// The limits do not allow all: the important ones first.
		if again := byPriority(p, binding, e, urgent); again != nil {
			s = again
		}
	}
	s.balanceZones()
	s.confirm()
	return s
}

// byPriority solves the problem one priority after the other; nil where all pods
// have the same.
func byPriority(p *Problem, binding limits, e *model.Effort, urgent map[int]bool) *solver {
	s := newSolver(p, binding, e)
	s.hurry(urgent)
	if len(s.classes) == 0 || s.classes[0].Template.Priority == s.classes[len(s.classes)-1].Template.Priority {
		return nil
	}
	s.settleReserved()
	all := slices.Clone(s.classes)
	defer func(classes []*class) { s.classes = classes }(s.classes)
	for len(all) > 0 {
		end := slices.IndexFunc(all, func(c *class) bool { return c.Template.Priority != all[0].Template.Priority })
		if end < 0 {
			end = len(all)
		}
		s.classes, s.later = all[:end], all[end:]
		s.rounds()
		all = all[end:]
	}
	return s
}

// unjust reports whether a pod went without a place because of a limit while a
// machine is bought for a less important one.
func (s *solver) unjust() bool {
	least := int32(math.MaxInt32)
	for _, m := range s.machines {
		for _, p := range m.placed {
			least = min(least, p.class.Template.Priority)
		}
	}
	return slices.ContainsFunc(s.classes, func(c *class) bool { return c.left > 0 && c.limited && c.Template.Priority > least })
}

// settleReserved puts pods onto the nodes where room was kept for them.
func (s *solver) settleReserved() {
	for _, c := range s.classes {
		if len(c.Nodes) == 0 || c.never.Missed() {
			continue
		}
		for l, ok := (level{}), true; ok && c.left > 0; l, ok = c.next(l, func(l level) bool { return s.anyReserved(c, l) }) {
			s.fillReserved(c, l)
		}
	}
}

// fillReserved puts pods of the class onto the nodes that it names.
func (s *solver) fillReserved(c *class, l level) {
	o, ok := s.optionsAt(c, l)
	if !ok {
		return
	}
	for i, n := range s.nodes {
		for c.left > 0 && s.reservedOn(c, o, l, i) {
			s.put(c, n, l, 1)
			s.state.EnterNode(c.Rules, topology.AssignmentOf(c.Keys, n.Node), n.Node, 1)
		}
	}
}

// anyReserved reports whether a node that the class names takes a pod of it.
func (s *solver) anyReserved(c *class, l level) bool {
	o, ok := s.optionsAt(c, l)
	for i := range s.nodes {
		if ok && s.reservedOn(c, o, l, i) {
			return true
		}
	}
	return false
}

// reservedOn reports whether the class names the node and the node takes a pod of it.
// Those that must share a node with others are taken to come with them: the plan that
// kept the room was for all of them.
func (s *solver) reservedOn(c *class, o *model.Options, l level, i int) bool {
	n := s.nodes[i]
	if !slices.Contains(c.Nodes, n.Name) || s.roomAlone(c, o, i, 1) == 0 {
		return false
	}
	_, ok := s.admits(c, topology.AssignmentOf(c.Keys, n.Node), l.relaxed)
	return ok
}

// rounds places the classes level by level until all have a place or have given
// up everything that they can.
func (s *solver) rounds() {
	open := slices.DeleteFunc(slices.Clone(s.classes), func(c *class) bool { return c.open() == 0 || c.never.Missed() })
	for len(open) > 0 {
		lots := s.placeAll(slices.DeleteFunc(slices.Clone(open), func(c *class) bool { return !c.urgent }))
		lots = append(lots, s.bundle(open)...)
		s.buyAll(append(lots, s.placeAll(open)...))
		var next []*class
		for _, c := range open {
			if c.open() == 0 || s.exhausted(c) {
				continue
			}
			if l, ok := c.next(c.level, func(l level) bool { return s.servesAt(c, l) }); ok {
				c.level = l
				next = append(next, c)
			}
		}
		open = next
	}
}

// placeAll places the classes on nodes and returns the lots to be bought. A
// class whose affinity waits for another class is tried again after it.
func (s *solver) placeAll(open []*class) []*lot {
	s.fillEvenly(open)
	var lots []*lot
	waiting := s.plainLast(open)
	for len(waiting) > 0 {
		var again []*class
		progress := false
		for _, c := range waiting {
			before := c.open()
			lots = append(lots, s.place(c, c.level)...)
			progress = progress || c.open() < before
			if c.open() > 0 && len(c.Affinities()) > 0 {
				again = append(again, c)
			}
		}
		if !progress {
			break
		}
		waiting = again
	}
	return lots
}

// buyAll fills machines that are planned already and buys others for the lots,
// Provisioners of higher weight first.
func (s *solver) buyAll(lots []*lot) {
	for _, l := range lots {
		s.topUp(l)
	}
	for _, tier := range s.tiers() {
		s.buy(lots, tier)
	}
	for _, l := range lots {
		s.enlarge(l)
	}
	for _, l := range lots {
		for _, p := range l.parts {
			p.class.booked = 0
		}
		if l.n > 0 {
			s.leave(l, l.n)
			limited := s.limitedBy(l)
			for _, p := range l.parts {
				p.class.tookBack = true
				p.class.limited = p.class.limited || limited
			}
		}
	}
}

// tiers returns the sellers of each weight, the highest first.
func (s *solver) tiers() [][]*model.Pool {
	sorted := slices.SortedStableFunc(slices.Values(s.Selling), func(a, b *model.Pool) int { return cmp.Compare(b.Weight, a.Weight) })
	var out [][]*model.Pool
	for i, p := range sorted {
		if i == 0 || sorted[i-1].Weight != p.Weight {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// topUp uses what is left of machines that are planned already.
func (s *solver) topUp(l *lot) {
	for i, m := range s.machines {
		if l.n == 0 {
			return
		}
		if len(l.parts) == 1 && !s.followed(m, l.parts[0].class) {
			continue
		}
		k, residual := s.admit(m, l, l.n)
		if k == 0 {
			continue
		}
		m = m.clone()
		m.add(l, k, residual)
		m.ahead = 0
		s.machines[i] = m
		s.hand(m, l, k)
	}
}

// limitedBy reports whether the lot could be bought if limits were higher.
func (s *solver) limitedBy(l *lot) bool {
	b := s.budgets()
	for k := range l.mask.All {
		if b.affords(&s.Offerings[k], 1) == 0 {
			return true
		}
	}
	return false
}

// explain returns why the class has no place.
func (s *solver) explain(c *class) string {
	if c.never.Missed() {
		return c.never.String()
	}
	return s.diagnose(c)
}
