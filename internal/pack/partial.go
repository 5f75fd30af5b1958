package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// bundleSome makes loads of as many pods of a component as go together, one load
// after the other, where there is no way for all.
func (s *placer) bundleSome(together, open []*class) []*lot {
	var lots []*lot
	begun := map[int]bool{}
	for {
		a := assembly{placer: s, together: together, open: open, begun: begun}
		machine := a.most(a.onMachine)
		node, at := []part(nil), -1
		for i := range s.nodes {
			if parts := a.most(func(parts []part) bool { return a.onNode(parts, i) }); podsIn(parts) > podsIn(node) {
				node, at = parts, i
			}
		}
		switch {
		case at >= 0 && podsIn(node) >= podsIn(machine):
			s.putAll(node, at)
			a.begin(node)
		case machine != nil:
			l := s.load(machine)
			l.book()
			lots = append(lots, l)
			a.begin(machine)
		default:
			return lots
		}
	}
}

func podsIn(parts []part) int64 {
	n := int64(0)
	for _, p := range parts {
		n += p.n
	}
	return n
}

// assembly puts a load together from the followers of a component and the pods that
// they follow.
type assembly struct {
	*placer
	together, open []*class
	begun          map[int]bool // groups that an earlier load began
}

func (a *assembly) onMachine(parts []part) bool {
	l := a.load(parts)
	if l == nil {
		return false
	}
	a.leave(l, 1)
	return true
}

func (a *assembly) onNode(parts []part, i int) bool {
	if !a.takes(parts, i) {
		return false
	}
	l := &lot{parts: parts, opt: a.jointOptions(parts, nil), at: topology.AssignmentOf(keysOf(parts), a.nodes[i].Node)}
	if !a.enterAll(l) {
		return false
	}
	a.leave(l, 1)
	return true
}

// putAll places the parts on a node that takes them.
func (s *placer) putAll(parts []part, i int) {
	n := s.nodes[i]
	l := &lot{parts: parts, opt: s.jointOptions(parts, nil), at: topology.AssignmentOf(keysOf(parts), n.Node)}
	s.enterAll(l)
	for _, p := range parts {
		s.put(p.class, n, p.level, p.n)
	}
}

// most returns the largest load that is possible: first one pod of each class that
// goes along with those before it, then as many of each as possible.
func (a *assembly) most(possible func([]part) bool) []part {
	classes := slices.DeleteFunc(slices.Clone(a.together), func(c *class) bool { return c.open() == 0 })
	var parts []part
	for {
		parts = nil
		for _, c := range classes {
			parts = a.with(parts, c, possible)
		}
		lonely := slices.IndexFunc(parts, func(p part) bool { return !a.accompanied(p.class, parts) })
		if lonely < 0 {
			break
		}
		out := parts[lonely].class // and what could not be with it has another chance
		classes = slices.DeleteFunc(classes, func(c *class) bool { return c == out })
	}
	if len(parts) == 0 {
		return nil
	}
	for i := range parts {
		if len(parts[i].class.Follows()) > 0 {
			a.enlarge(parts, i, possible)
		}
	}
	return parts
}

// with returns the parts with a pod of the class and of classes that it follows, or
// the parts as they are where that is not possible.
func (a *assembly) with(parts []part, c *class, possible func([]part) bool) []part {
	out := append(slices.Clone(parts), part{class: c, level: c.level, n: 1})
	if !possible(out) {
		return parts
	}
	for _, f := range c.Follows() {
		g := a.state.List[f.Group()]
		if slices.ContainsFunc(out, func(p part) bool { return p.class != c && g.Matches(p.class.Template) }) {
			continue
		}
		for _, t := range a.open {
			if len(t.Follows()) > 0 || t.open() == 0 || !g.Matches(t.Template) {
				continue
			}
			if more := append(slices.Clone(out), part{class: t, level: t.level, n: 1}); possible(more) {
				out = more
				break
			}
		}
	}
	return out
}

// accompanied reports whether the load has pods of all groups that the class
// follows. A group may begin with the load if there is none of its pods yet.
func (a *assembly) accompanied(c *class, parts []part) bool {
	for _, f := range c.Follows() {
		g := a.state.List[f.Group()]
		if slices.ContainsFunc(parts, func(p part) bool { return len(p.class.Follows()) == 0 && g.Matches(p.class.Template) }) {
			continue
		}
		begins := !a.begun[f.Group()] && g.Total == 0 && !a.elsewhere(g)
		other := slices.ContainsFunc(parts, func(p part) bool { return p.class != c && g.Matches(p.class.Template) })
		if f.Self() && !begins || !f.Self() && !other {
			return false
		}
	}
	return true
}

// elsewhere reports whether there will be pods of the group that follow nobody. They may
// come first, and then the group has begun without those that follow.
func (a *assembly) elsewhere(g *topology.Group) bool {
	return slices.ContainsFunc(a.open, func(t *class) bool {
		return len(t.Follows()) == 0 && t.open() > 0 && g.Matches(t.Template) && a.onMachine([]part{{class: t, level: t.level, n: 1}})
	})
}

// enlarge takes as many pods of a part as are possible.
func (a *assembly) enlarge(parts []part, i int, possible func([]part) bool) {
	p := &parts[i]
	for step := p.class.open() - p.n; step > 0; {
		p.n += step
		if possible(parts) {
			step = min(step, p.class.open()-p.n)
			continue
		}
		p.n -= step
		step /= 2
	}
}

func (a *assembly) begin(parts []part) {
	for _, p := range parts {
		for _, f := range p.class.Follows() {
			if f.Self() {
				a.begun[f.Group()] = true
			}
		}
	}
}
