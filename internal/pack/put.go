package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// hand gives the pods of k loads of the lot, or of those that it pools, to the machine.
func (s *Assignment) hand(m *machine, l *lot, k int64) {
	l.n -= k
	if l.members == nil {
		s.assign(m, l, l.parts, k)
	}
	for _, of := range l.members {
		if n := min(k, of.n); n > 0 {
			of.n -= n
			k -= n
			s.assign(m, l, of.parts, n)
		}
	}
}

// assign gives the pods of k loads of the parts to the machine.
func (s *Assignment) assign(m *machine, l *lot, parts []part, k int64) {
	for _, p := range parts {
		m.pods = append(m.pods, p.class.take(k*p.n)...)
		m.placed = append(m.placed, placement{lot: l, class: p.class, level: p.level, n: k * p.n})
		s.state.Join(p.class.Rules, k*p.n)
	}
}

// put places k pods on a node.
func (s *Assignment) put(c *class, n *node, level level, k int64) {
	model.AddTimes(n.free, c.Need, -k)
	n.Counts = n.Counts.Plus(c.PerNode, k)
	given := c.GivenUp(level.relaxed)
	if !n.HostLess() {
		s.state.Join(c.Rules, k)
	}
	pods := slices.Clone(c.take(k))
	s.onNodes = append(s.onNodes, nodePlacement{placement{class: c, level: level, n: k}, n, pods})
	for _, pod := range pods {
		s.places[pod] = Place{Node: n.Name, Machine: -1, GivenUp: given}
	}
}

// open returns how many pods have neither a place nor a lot, and may have one.
func (c *class) open() int64 { return c.left - c.booked - c.held }

// take removes k pods from those that have no place yet.
func (c *class) take(k int64) []int {
	out := c.pods[int64(len(c.pods))-c.left:][:k]
	c.left -= k
	return out
}

// release makes pods of the class be without a place again.
func (s *Assignment) release(c *class, pods []int) {
	placed := c.pods[:int64(len(c.pods))-c.left]
	for _, pod := range pods {
		s.places[pod] = Place{Machine: -1}
		last := len(placed) - 1
		i := slices.Index(placed, pod)
		placed[i], placed[last] = placed[last], placed[i]
		placed = placed[:last]
		c.left++
	}
	slices.Sort(c.pods[int64(len(c.pods))-c.left:])
}

// leave takes back what was counted for pods of a lot that could not be bought for.
func (s *Assignment) leave(l *lot, k int64) {
	if l.at == nil {
		return
	}
	for _, p := range l.parts {
		s.state.Enter(p.class.Rules, l.at, l.opt.Requires, -k*p.n)
	}
}

// admits reports whether another pod of the class may enter the domains, and how many
// pods are there by which domains are compared.
func (s *Assignment) admits(c *class, at *topology.Assignment, relaxed topology.Relaxed) (int64, bool) {
	if c.never.Kind == match.Exhausted {
		return 0, false // what it asks for has not been looked at
	}
	return s.state.Admits(c.Rules, at, relaxed)
}

// fill puts as many pods of the class as possible onto nodes that exist.
func (s *Assignment) fill(c *class, o *model.Options, level level) {
	for i, n := range s.nodes {
		if c.open() == 0 {
			return
		}
		if k := s.roomOn(c, o, i, c.open()); k > 0 {
			s.put(c, n, level, k)
		}
	}
}

// roomOn returns how many pods of the class the node can take, at most limit.
func (s *Assignment) roomOn(c *class, o *model.Options, i int, limit int64) int64 {
	if !s.state.Reaches(c.Rules, s.nodes[i].NodeView, false) {
		return 0
	}
	return s.roomAlone(c, o, i, limit)
}

// roomAlone is roomOn without regard to the pods that the class must share a
// node with.
func (s *Assignment) roomAlone(c *class, o *model.Options, i int, limit int64) int64 {
	n := s.nodes[i]
	s.Effort.Spend(model.StepsToMatch + len(c.PerNode))
	k := amount.Copies(c.Need, n.free, limit)
	if k == 0 || !s.Matches(o, i) {
		return 0
	}
	return n.Counts.Room(c.PerNode, k)
}

// accepts reports whether kube-scheduler would let a pod of the class onto the site.
func (s *Assignment) accepts(c *class, to *site, at *topology.Assignment) bool {
	return c.never.Kind != match.Exhausted && s.state.Accepts(c.Rules, to.NodeView, at)
}

func (s *Assignment) followsClass(c, target *class) bool {
	return slices.ContainsFunc(c.Follows(), func(f *topology.NodeAffinity) bool { return s.state.List[f.Group()].Matches(target.Template) })
}
