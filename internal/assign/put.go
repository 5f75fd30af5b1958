package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Hand gives the pods of k loads of the pod group, or of those that it pools, to the machine.
func (s *Assignment) Hand(m *Machine, l *PodGroup, k int64) {
	l.N -= k
	if l.Members == nil {
		s.assign(m, l, l.Parts, k)
	}
	for _, of := range l.Members {
		if n := min(k, of.N); n > 0 {
			of.N -= n
			k -= n
			s.assign(m, l, of.Parts, n)
		}
	}
}

// assign gives the pods of k loads of the parts to the machine.
func (s *Assignment) assign(m *Machine, l *PodGroup, parts []Part, k int64) {
	for _, p := range parts {
		m.Pods = append(m.Pods, p.Class.Take(k*p.N)...)
		m.Placed = append(m.Placed, Placement{Group: l, Class: p.Class, Level: p.Level, N: k * p.N})
		s.State.Join(p.Class.Rules, k*p.N)
	}
}

// Put places k pods on a node.
func (s *Assignment) Put(c *Class, n *node, level Level, k int64) {
	model.AddTimes(n.Free, c.Need, -k)
	n.Counts = n.Counts.Plus(c.PerNode, k)
	given := c.GivenUp(level.Relaxed)
	if !n.HostLess() {
		s.State.Join(c.Rules, k)
	}
	pods := slices.Clone(c.Take(k))
	s.OnNodes = append(s.OnNodes, NodePlacement{Placement{Class: c, Level: level, N: k}, n, pods})
	for _, pod := range pods {
		s.Places[pod] = Place{Node: n.Name, Machine: -1, GivenUp: given}
	}
}

// Open returns how many pods have neither a place nor a pod group, and may have one.
func (c *Class) Open() int64 { return c.Left - c.Booked - c.Held }

// Take removes k pods from those that have no place yet.
func (c *Class) Take(k int64) []int {
	out := c.PodIndices[int64(len(c.PodIndices))-c.Left:][:k]
	c.Left -= k
	return out
}

// Release makes pods of the class be without a place again.
func (s *Assignment) Release(c *Class, pods []int) {
	placed := c.PodIndices[:int64(len(c.PodIndices))-c.Left]
	for _, pod := range pods {
		s.Places[pod] = Place{Machine: -1}
		last := len(placed) - 1
		i := slices.Index(placed, pod)
		placed[i], placed[last] = placed[last], placed[i]
		placed = placed[:last]
		c.Left++
	}
	slices.Sort(c.PodIndices[int64(len(c.PodIndices))-c.Left:])
}

// Uncount takes back what was counted for pods of a pod group that could not be bought for.
func (s *Assignment) Uncount(l *PodGroup, k int64) {
	if l.At == nil {
		return
	}
	for _, p := range l.Parts {
		s.State.Enter(p.Class.Rules, l.At, l.Opt.Requires, -k*p.N)
	}
}

// Admits reports whether another pod of the class may enter the domains, and how many
// pods are there by which domains are compared.
func (s *Assignment) Admits(c *Class, at *topology.Assignment, relaxed topology.Relaxed) (int64, bool) {
	if c.Missing.Kind == match.Exhausted {
		return 0, false // what it asks for has not been looked at
	}
	return s.State.Admits(c.Rules, at, relaxed)
}

// Fill puts as many pods of the class as possible onto nodes that exist.
func (s *Assignment) Fill(c *Class, o *model.Options, level Level) {
	for i, n := range s.ExistingNodes {
		if c.Open() == 0 {
			return
		}
		if k := s.RoomOn(c, o, i, c.Open()); k > 0 {
			s.Put(c, n, level, k)
		}
	}
}

// RoomOn returns how many pods of the class the node can take, at most limit.
func (s *Assignment) RoomOn(c *Class, o *model.Options, i int, limit int64) int64 {
	if !s.State.Reaches(c.Rules, s.ExistingNodes[i].NodeView, false) {
		return 0
	}
	return s.RoomAlone(c, o, i, limit)
}

// RoomAlone is RoomOn without regard to the pods that the class must share a
// node with.
func (s *Assignment) RoomAlone(c *Class, o *model.Options, i int, limit int64) int64 {
	n := s.ExistingNodes[i]
	s.Effort.Spend(model.StepsToMatch + len(c.PerNode))
	k := amount.Copies(c.Need, n.Free, limit)
	if k == 0 || !s.Matches(o, i) {
		return 0
	}
	return n.Counts.Room(c.PerNode, k)
}

// Accepts reports whether kube-scheduler would let a pod of the class onto the site.
func (s *Assignment) Accepts(c *Class, to *Site, at *topology.Assignment) bool {
	return c.Missing.Kind != match.Exhausted && s.State.Accepts(c.Rules, to.NodeView, at)
}

// FollowsClass reports whether pods of the class must share a node with pods of the target.
func (s *Assignment) FollowsClass(c, target *Class) bool {
	return slices.ContainsFunc(c.Follows(), func(f *topology.NodeAffinity) bool { return s.State.List[f.Group()].Matches(target.Template) })
}
