package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Put places k pods of a class on a node and counts them there and in its domains. The pods
// must be without a place, and the node must have room for them.
func (s *Assignment) Put(c *Class, i int, level Level, k int64) {
	n := s.nodes[i]
	model.AddTimes(n.Free, c.Need, -k)
	s.State.CountOn(n.NodeView, c.PerNode, k)
	if !n.HostLess() {
		s.State.Join(c.Rules, k)
	}
	if len(c.Keys) > 0 {
		s.State.EnterNode(c.Rules, topology.AssignmentOf(c.Keys, n.Node), n.Node, k)
	}
	s.onNodes = append(s.onNodes, NodePlacement{Placement{Class: c, Level: level, N: k}, n, slices.Clone(c.take(k))})
}

// PutItems places k items of a pod group of single pods on a node in their domain, where they
// have been counted when the group was booked.
func (s *Assignment) PutItems(i int, g *PodGroup, k int64) {
	g.N -= k
	if g.Members == nil {
		s.Uncount(g, k)
		s.Put(g.Parts[0].Class, i, g.Parts[0].Level, k)
		return
	}
	for _, of := range g.Members {
		if n := min(k, of.N); n > 0 {
			s.PutItems(i, of, n)
			k -= n
		}
	}
}

// Buy adds a machine with the content of m and gives it pods of the groups that are on it.
// Their domains have been counted when the groups were booked. The content may be shared
// with other machines.
func (s *Assignment) Buy(m *Machine) {
	out, pods := *m, int64(0)
	for _, it := range m.Items {
		for _, p := range it.Group.Parts {
			pods += it.N * p.N
		}
	}
	out.Pods, out.Placed = make([]int, 0, pods), make([]Placement, 0, len(m.Items))
	s.machines = append(s.machines, &out)
	for _, it := range m.Items {
		s.hand(&out, it.Group, it.N)
	}
}

// Extend puts k more items of a pod group on machine i, which has room for them and ends with
// the given residual.
func (s *Assignment) Extend(i int, g *PodGroup, k int64, residual int) {
	m := s.machines[i].Clone()
	m.Ahead = 0
	m.Add(g, k, residual)
	s.machines[i] = m
	s.hand(m, g, k)
}

// Move buys machine i of another offering, which has room for its content.
func (s *Assignment) Move(i, offering int) { s.machines[i].Offering = offering }

// Downsize moves the machines from i on to the cheapest offerings that hold their content
// and that limits allow.
func (s *Assignment) Downsize(i int) {
	left := s.Remaining()
	for _, m := range s.machines[i:] {
		s.downsize(m, left)
	}
}

func (s *Assignment) downsize(m *Machine, left RemainingLimits) {
	left.Spend(&s.Offerings[m.Offering], -1)
	s.Shrink(m, func(o *model.Offering) bool { return left.Affords(o, 1) > 0 })
	left.Spend(&s.Offerings[m.Offering], 1)
}

// hand gives the pods of k items of the pod group, or of those that it pools, to the machine.
func (s *Assignment) hand(m *Machine, g *PodGroup, k int64) {
	g.N -= k
	if g.Members == nil {
		s.give(m, g, g.Parts, k)
	}
	for _, of := range g.Members {
		if n := min(k, of.N); n > 0 {
			of.N -= n
			k -= n
			s.give(m, g, of.Parts, n)
		}
	}
}

// give gives the pods of k items of the parts to the machine.
func (s *Assignment) give(m *Machine, g *PodGroup, parts []Part, k int64) {
	for _, p := range parts {
		m.Pods = append(m.Pods, p.Class.take(k*p.N)...)
		m.Placed = append(m.Placed, Placement{Group: g, Class: p.Class, Level: p.Level, N: k * p.N})
		s.State.Join(p.Class.Rules, k*p.N)
	}
}

// Withdrawal takes pods of a class from where they are.
type Withdrawal struct {
	Machine bool
	Index   int // of the machine, or of the placement on a node
	Placed  int // which placement of the machine
	N       int64
}

// Withdraw takes pods from their places. A machine that is left without a pod is not bought,
// and others are bought as small as they may be. What constraints count by domain is for the
// caller to set right.
func (s *Assignment) Withdraw(list []Withdrawal) {
	// From the last to the first, so that what is still to be withdrawn keeps its index.
	for _, w := range slices.Backward(list) {
		if w.Machine {
			s.machines[w.Index] = s.withdrawFromMachine(s.machines[w.Index], w)
		} else {
			s.withdrawFromNode(&s.onNodes[w.Index], w.N)
		}
	}
	s.machines = slices.DeleteFunc(s.machines, func(m *Machine) bool { return len(m.Pods) == 0 })
	s.onNodes = slices.DeleteFunc(s.onNodes, func(p NodePlacement) bool { return p.N == 0 })
	for i, n := range s.nodes {
		n.Counts = slices.Clone(s.Start.Counts[i])
	}
	for _, p := range s.onNodes {
		s.State.CountOn(p.Node.NodeView, p.Class.PerNode, p.N)
	}
}

func (s *Assignment) withdrawFromNode(p *NodePlacement, n int64) {
	p.N -= n
	model.AddTimes(p.Node.Free, p.Class.Need, n)
	p.Class.release(p.Pods[p.N:])
	p.Pods = p.Pods[:p.N]
}

func (s *Assignment) withdrawFromMachine(old *Machine, w Withdrawal) *Machine {
	out := old.Clone()
	out.Pods, out.Placed, out.Ahead = slices.Clone(old.Pods), slices.Clone(old.Placed), 0
	end := int64(0)
	for _, p := range out.Placed[:w.Placed+1] {
		end += p.N
	}
	p := &out.Placed[w.Placed]
	p.Class.release(out.Pods[end-w.N : end])
	out.Pods = slices.Delete(out.Pods, int(end-w.N), int(end))
	p.N -= w.N
	model.AddTimes(out.Used, p.Class.Need, -w.N)
	out.itemise(p.Group)
	out.Host = s.State.DaemonCounts(out.Offering)
	for _, p := range out.Placed {
		out.Host = out.Host.Plus(p.Class.PerNode, p.N)
	}
	if len(out.Pods) > 0 {
		s.Refresh(out)
		s.downsize(out, s.Remaining())
	}
	return out
}
