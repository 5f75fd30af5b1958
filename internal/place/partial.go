package place

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// bundleSome makes items of as many pods of a component as go together, one item
// after the other, where there is no way for all.
func (pl *Placer) bundleSome(together []*assign.Class, of members) []*assign.PodGroup {
	var groups []*assign.PodGroup
	a := newAssembly(pl, together, of)
	for {
		if a.varies {
			a.askAgain()
		}
		machine := a.most(a.onMachine)
		node, at := a.bestNode()
		switch {
		case at >= 0 && podsIn(node) >= podsIn(machine):
			pl.putAll(node, at)
			a.begin(node)
		case machine != nil:
			g := pl.item(machine)
			if g == nil {
				return groups // there is no effort left to find it again
			}
			g.Book()
			groups = append(groups, g)
			a.begin(machine)
		case a.stale(): // with fewer pods to come, a node may take others than before
			a.askAgain()
		default:
			return groups
		}
	}
}

func podsIn(parts []assign.Part) int64 {
	n := int64(0)
	for _, p := range parts {
		n += p.N
	}
	return n
}

// assembly puts an item together from the followers of a component and the pods that
// they follow.
type assembly struct {
	*Placer
	together []*assign.Class
	members  members
	begun    map[int]bool // groups that an earlier item began
	nodes    []offered
	varies   bool // domains matter, so that a node may take more than before
}

// offered is a node with the largest item that it took when it was last asked.
type offered struct {
	node  int
	parts []assign.Part
	most  int64 // no more than this now
	asked bool  // since the last item
}

// newAssembly leaves out the followers that nobody can be with, and the nodes that take none of
// the others.
func newAssembly(pl *Placer, together []*assign.Class, of members) *assembly {
	a := &assembly{Placer: pl, members: of, begun: map[int]bool{}}
	for _, c := range together {
		if !slices.ContainsFunc(c.Follows(), func(f *topology.NodeAffinity) bool { return len(of[f.Group()]) == 0 }) {
			a.together, a.varies = append(a.together, c), a.varies || len(c.Keys) > 0
		}
	}
	for i := range a.Existing() {
		if slices.ContainsFunc(a.together, func(c *assign.Class) bool {
			return a.mayGoOn(c) && a.takes([]assign.Part{{Class: c, Level: c.Level, N: 1}}, i)
		}) {
			a.nodes = append(a.nodes, offered{node: i})
		}
	}
	a.askAgain()
	return a
}

// askAgain forgets what nodes took.
func (a *assembly) askAgain() {
	for i := range a.nodes {
		a.nodes[i].most, a.nodes[i].asked = math.MaxInt64, false
	}
}

// stale reports whether some nodes have not been asked since the last item.
func (a *assembly) stale() bool {
	return slices.ContainsFunc(a.nodes, func(n offered) bool { return !n.asked })
}

// bestNode returns the largest item that a node takes, and the first such node. Nodes fill up, so
// that those are not asked again that took less before.
func (a *assembly) bestNode() ([]assign.Part, int) {
	for i := range a.nodes {
		a.nodes[i].asked = false
	}
	for len(a.nodes) > 0 {
		n := &a.nodes[0]
		for i := range a.nodes {
			if a.nodes[i].most > n.most {
				n = &a.nodes[i]
			}
		}
		switch {
		case n.most == 0:
			return nil, -1
		case n.asked:
			return n.parts, n.node
		}
		n.parts = a.most(func(parts []assign.Part) bool { return a.onNode(parts, n.node) })
		n.most, n.asked = podsIn(n.parts), true
	}
	return nil, -1
}

func (a *assembly) onMachine(parts []assign.Part) bool {
	g := a.item(parts)
	if g == nil {
		return false
	}
	a.Uncount(g, 1)
	return true
}

// onNode reports whether an item may be on a node.
func (pl *Placer) onNode(parts []assign.Part, i int) bool {
	if !pl.takes(parts, i) {
		return false
	}
	g := &assign.PodGroup{Parts: parts, Opt: pl.jointOptions(parts, nil), At: topology.AssignmentOf(keysOf(parts), pl.Existing()[i].Node)}
	if !pl.enterAll(g) {
		return false
	}
	pl.Uncount(g, 1)
	return true
}

// putAll places the parts on a node that takes them.
func (pl *Placer) putAll(parts []assign.Part, i int) {
	for _, p := range parts {
		pl.Put(p.Class, i, p.Level, p.N)
	}
}

// most returns the largest item that is possible: first one pod of each class that
// goes along with those before it, then as many of each as possible.
func (a *assembly) most(possible func([]assign.Part) bool) []assign.Part {
	classes := slices.DeleteFunc(slices.Clone(a.together), func(c *assign.Class) bool { return c.Open() == 0 })
	var parts []assign.Part
	for {
		parts = nil
		for _, c := range classes {
			parts = a.with(parts, c, possible)
		}
		lonely := slices.IndexFunc(parts, func(p assign.Part) bool { return !a.accompanied(p.Class, parts) })
		if lonely < 0 {
			break
		}
		out := parts[lonely].Class // and what could not be with it has another chance
		classes = slices.DeleteFunc(classes, func(c *assign.Class) bool { return c == out })
	}
	if len(parts) == 0 {
		return nil
	}
	for i := range parts {
		if len(parts[i].Class.Follows()) > 0 {
			a.enlarge(parts, i, possible)
		}
	}
	return parts
}

// with returns the parts with a pod of the class and of classes that it follows, or
// the parts as they are where that is not possible.
func (a *assembly) with(parts []assign.Part, c *assign.Class, possible func([]assign.Part) bool) []assign.Part {
	out := append(slices.Clone(parts), assign.Part{Class: c, Level: c.Level, N: 1})
	if !a.mayGoOn(c) || !possible(out) {
		return parts
	}
	for _, f := range c.Follows() {
		if slices.ContainsFunc(out, func(p assign.Part) bool { return p.Class != c && p.Class.Belongs(f.Group()) }) {
			continue
		}
		for _, t := range a.members[f.Group()] {
			if len(t.Follows()) > 0 || t.Open() == 0 {
				continue
			}
			if more := append(slices.Clone(out), assign.Part{Class: t, Level: t.Level, N: 1}); possible(more) {
				out = more
				break
			}
		}
	}
	return out
}

// accompanied reports whether the item has pods of all groups that the class
// follows. A group may begin with the item if there is none of its pods yet.
func (a *assembly) accompanied(c *assign.Class, parts []assign.Part) bool {
	for _, f := range c.Follows() {
		if slices.ContainsFunc(parts, func(p assign.Part) bool { return len(p.Class.Follows()) == 0 && p.Class.Belongs(f.Group()) }) {
			continue
		}
		begins := !a.begun[f.Group()] && a.State.List[f.Group()].Total == 0 && !a.elsewhere(f.Group())
		other := slices.ContainsFunc(parts, func(p assign.Part) bool { return p.Class != c && p.Class.Belongs(f.Group()) })
		if f.Self() && !begins || !f.Self() && !other {
			return false
		}
	}
	return true
}

// elsewhere reports whether there will be pods of the group that follow nobody. They may
// come first, and then the group has begun without those that follow.
func (a *assembly) elsewhere(group int) bool {
	return slices.ContainsFunc(a.members[group], func(t *assign.Class) bool {
		return len(t.Follows()) == 0 && t.Open() > 0 && a.onMachine([]assign.Part{{Class: t, Level: t.Level, N: 1}})
	})
}

// enlarge takes as many pods of a part as are possible.
func (a *assembly) enlarge(parts []assign.Part, i int, possible func([]assign.Part) bool) {
	p := &parts[i]
	for step := p.Class.Open() - p.N; step > 0 && a.mayGoOn(p.Class); {
		p.N += step
		if possible(parts) {
			step = min(step, p.Class.Open()-p.N)
			continue
		}
		p.N -= step
		step /= 2
	}
}

func (a *assembly) begin(parts []assign.Part) {
	for _, p := range parts {
		for _, f := range p.Class.Follows() {
			if f.Self() {
				a.begun[f.Group()] = true
			}
		}
	}
}
