package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Put places k pods of a class on a node and counts them there and in its domains. The pods
// must be without a place, and the node must have room for them.
func (a *Assignment) Put(c *Class, i int, level Level, k int64) {
	n := a.nodes[i]
	model.AddTimes(n.Free, c.Need, -k)
	a.State.CountOn(n.NodeView, c.PerNode, k)
	if !n.HostLess() {
		a.State.Join(c.Rules, k)
	}
	if len(c.Keys) > 0 {
		a.State.EnterNode(c.Rules, topology.AssignmentOf(c.Keys, n.Node), n.Node, k)
	}
	a.onNodes = append(a.onNodes, NodePlacement{Placement{Class: c, Level: level, N: k}, n, slices.Clone(c.take(k))})
}

// PutItems places k items of a pod group of single pods on a node in their domain, where they
// have been counted when the group was booked.
func (a *Assignment) PutItems(i int, g *PodGroup, k int64) {
	g.N -= k
	if g.Members == nil {
		a.Uncount(g, k)
		a.Put(g.Parts[0].Class, i, g.Parts[0].Level, k)
		return
	}
	for _, of := range g.Members {
		if n := min(k, of.N); n > 0 {
			a.PutItems(i, of, n)
			k -= n
		}
	}
}

// Buy adds a machine with the content of m and gives it pods of the groups that are on it.
// Their domains have been counted when the groups were booked. The content may be shared
// with other machines.
func (a *Assignment) Buy(m *Machine) {
	out, pods := *m, int64(0)
	for _, it := range m.Items {
		for _, p := range it.Group.Parts {
			pods += it.N * p.N
		}
	}
	out.Pods, out.Placed = make([]int, 0, pods), make([]Placement, 0, len(m.Items))
	a.machines = append(a.machines, &out)
	for _, it := range m.Items {
		a.hand(&out, it.Group, it.N)
	}
}

// Extend puts k more items of a pod group on machine i, which has room for them and ends with
// the given residual.
func (a *Assignment) Extend(i int, g *PodGroup, k int64, residual int) {
	m := a.machines[i].Clone()
	m.Ahead = 0
	m.Add(g, k, residual)
	a.machines[i] = m
	a.hand(m, g, k)
}

// Move buys machine i of another offering, which has room for its content.
func (a *Assignment) Move(i, offering int) { a.machines[i].Offering = offering }

// Downsize moves the machines from i on to the cheapest offerings that hold their content
// and that limits allow.
func (a *Assignment) Downsize(i int) {
	left := a.Remaining()
	for _, m := range a.machines[i:] {
		a.downsize(m, left)
	}
}

func (a *Assignment) downsize(m *Machine, left RemainingLimits) {
	left.Spend(&a.Offerings[m.Offering], -1)
	a.Shrink(m, func(o *model.Offering) bool { return left.Allows(o) })
	left.Spend(&a.Offerings[m.Offering], 1)
}

// hand gives the pods of k items of the pod group, or of those that it pools, to the machine.
func (a *Assignment) hand(m *Machine, g *PodGroup, k int64) {
	g.N -= k
	if g.Members == nil {
		a.give(m, g, g.Parts, k)
	}
	for _, of := range g.Members {
		if n := min(k, of.N); n > 0 {
			of.N -= n
			k -= n
			a.give(m, g, of.Parts, n)
		}
	}
}

// give gives the pods of k items of the parts to the machine.
func (a *Assignment) give(m *Machine, g *PodGroup, parts []Part, k int64) {
	for _, p := range parts {
		m.Pods = append(m.Pods, p.Class.take(k*p.N)...)
		m.Placed = append(m.Placed, Placement{Group: g, Class: p.Class, Level: p.Level, N: k * p.N})
		a.State.Join(p.Class.Rules, k*p.N)
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
func (a *Assignment) Withdraw(list []Withdrawal) {
	// From the last to the first, so that what is still to be withdrawn keeps its index.
	for _, w := range slices.Backward(list) {
		if w.Machine {
			a.machines[w.Index] = a.withdrawFromMachine(a.machines[w.Index], w)
		} else {
			a.withdrawFromNode(&a.onNodes[w.Index], w.N)
		}
	}
	a.machines = slices.DeleteFunc(a.machines, func(m *Machine) bool { return len(m.Pods) == 0 })
	a.onNodes = slices.DeleteFunc(a.onNodes, func(p NodePlacement) bool { return p.N == 0 })
	for i, n := range a.nodes {
		n.Counts = slices.Clone(a.Start.Counts[i])
	}
	for _, p := range a.onNodes {
		a.State.CountOn(p.Node.NodeView, p.Class.PerNode, p.N)
	}
}

func (a *Assignment) withdrawFromNode(p *NodePlacement, n int64) {
	p.N -= n
	model.AddTimes(p.Node.Free, p.Class.Need, n)
	p.Class.release(p.Pods[p.N:])
	p.Pods = p.Pods[:p.N]
}

func (a *Assignment) withdrawFromMachine(old *Machine, w Withdrawal) *Machine {
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
	out.Counts = a.State.DaemonCounts(out.Offering)
	for _, p := range out.Placed {
		out.Counts = out.Counts.Plus(p.Class.PerNode, p.N)
	}
	if len(out.Pods) > 0 {
		a.Refresh(out)
		a.downsize(out, a.Remaining())
	}
	return out
}
