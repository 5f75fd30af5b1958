package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Machine is to be bought. Machines with the same content share their items.
type Machine struct {
	Pool     *model.Pool
	Offering int // the cheapest that holds the content
	Items    []Items
	Used     []int64      // by pods, without DaemonSets
	Mask     model.Bitset // offerings that the pod groups allow; not all of them hold the content
	Residual int
	Counts   topology.NodeCounts // of its pods and DaemonSets
	Ahead    int64               // more items that it has been bought to have room for
	// Once assigned: the pods (indices of Problem.Pods), in the order of placed.
	Pods   []int
	Placed []Placement
}

// Items are equal items: those of one pod group, and how many of them are on a machine.
type Items struct {
	Group *PodGroup
	N     int64
}

// Placement is a number of pods of a class on a machine that is bought for a pod group, or on a
// node, where the group is nil.
type Placement struct {
	Group *PodGroup
	Class *Class
	Level Level
	N     int64
}

// NodePlacement is a number of pods of a class on a node that exists.
type NodePlacement struct {
	Placement
	Node *Node
	Pods []int
}

// Admit returns how many pods of the pod group the machine can take as it is, at most
// limit, and the residual that it then has.
func (mk *Market) Admit(m *Machine, g *PodGroup, limit int64) (int64, int) {
	if !g.Mask.Has(m.Offering) {
		return 0, 0
	}
	o := &mk.Offerings[m.Offering]
	for i, n := range g.Need {
		if n > 0 {
			free := o.Room[i] - m.Used[i]
			if free < n {
				return 0, 0 // as most of the time
			}
			limit = min(limit, free/n)
		}
	}
	residual, ok := mk.Merge(m.Residual, g.Opt.Residual[o.Pool])
	if !ok || residual != m.Residual && !mk.LeavesChoice(residual, o) {
		return 0, 0
	}
	return m.Counts.Room(g.PerNode, limit), residual
}

// AddUpTo puts as many items of the pod group on the machine as may be there, at most n, and
// returns how many.
func (mk *Market) AddUpTo(m *Machine, g *PodGroup, n int64) int64 {
	k, residual := mk.Admit(m, g, n)
	if k > 0 {
		m.Add(g, k, residual)
	}
	return k
}

// Add puts n pods of the pod group on the machine, which must not be shared.
func (m *Machine) Add(g *PodGroup, n int64, residual int) {
	model.AddTimes(m.Used, g.Need, n)
	m.Counts = m.Counts.Plus(g.PerNode, n)
	m.Residual = residual
	for i := range m.Items {
		if m.Items[i].Group == g {
			m.Items[i].N += n
			return
		}
	}
	m.Mask.Keep(g.Mask)
	m.Items = append(m.Items, Items{Group: g, N: n})
}

// NewMachine returns an empty machine of an offering.
func (mk *Market) NewMachine(offering int) *Machine {
	m := &Machine{Used: make([]int64, len(mk.Space.Names)), Mask: model.NewBitset(len(mk.Offerings))}
	mk.Reset(m, offering)
	return m
}

// Reset makes a machine that nothing shares an empty one of an offering.
func (mk *Market) Reset(m *Machine, offering int) {
	c := &mk.Offerings[offering]
	p := mk.Pools[c.Pool]
	m.Pool, m.Offering, m.Residual, m.Items, m.Ahead = p, offering, p.Residual, m.Items[:0], 0
	m.Counts = append(m.Counts[:0], mk.State.DaemonCounts(offering)...)
	clear(m.Used)
	copy(m.Mask, p.Mask)
}

// Clone returns a machine of the same content that shares nothing.
func (m *Machine) Clone() *Machine {
	out := *m
	out.Items, out.Used, out.Mask, out.Counts = slices.Clone(m.Items), slices.Clone(m.Used), m.Mask.Clone(), slices.Clone(m.Counts)
	return &out
}

// RoomFor returns the offerings that have room for the machine's content. It holds until
// it is called again.
func (mk *Market) RoomFor(m *Machine) model.Bitset {
	mk.Roomy = append(mk.Roomy[:0], m.Mask...)
	if m.onlyGuests() {
		mk.Roomy.Remove(mk.Special)
	}
	mk.KeepRoomy(mk.Roomy, m.Used)
	return mk.Roomy
}

// OnlyGuests reports whether a machine is of a special type that nobody on it needs.
func (mk *Market) OnlyGuests(m *Machine) bool { return mk.Special.Has(m.Offering) && m.onlyGuests() }

func (m *Machine) onlyGuests() bool {
	return !slices.ContainsFunc(m.Items, func(it Items) bool { return it.Group.Plain == nil })
}

// Shrink moves the machine to its cheapest offering. Offerings that would break the
// limit are left out.
func (mk *Market) Shrink(m *Machine, within func(*model.Offering) bool) {
	for k := range mk.RoomFor(m).Within([2]int{m.Pool.Offerings[0], m.Offering}) { // sorted by price
		if mk.LeavesChoice(m.Residual, &mk.Offerings[k]) && within(&mk.Offerings[k]) && mk.SameDaemons(k, m.Offering) {
			m.Offering = k
			return
		}
	}
}

// SameDaemons reports whether the content may move between offerings as far as
// constraints with DaemonSet pods go.
func (mk *Market) SameDaemons(to, from int) bool {
	social := func(i int) bool { return mk.State.Daemons[i].Matters() }
	a, b := mk.State.DaemonsOn(to), mk.State.DaemonsOn(from)
	return slices.Equal(a, b) || !slices.ContainsFunc(a, social) && !slices.ContainsFunc(b, social)
}

// Refresh sets what the machine's labels and offerings must be from its content
// alone: items that have left no longer count. The machine must not be shared.
func (mk *Market) Refresh(m *Machine) {
	m.Residual = m.Pool.Residual
	copy(m.Mask, m.Pool.Mask)
	for _, it := range m.Items {
		m.Residual, _ = mk.Merge(m.Residual, it.Group.Opt.Residual[m.Pool.Number])
		m.Mask.Keep(it.Group.Mask)
	}
}

// NodeOf returns the node that a machine will be, as far as labels and taints go.
func (mk *Market) NodeOf(m *Machine) *model.Node {
	return &model.Node{Node: &cluster.Node{Labels: mk.LabelsOf(m.Offering, m.Residual)}, Taints: m.Pool.Spec.Spec.Taints}
}

// Followed reports whether the machine has the pods that the class must share a
// node with.
func (mk *Market) Followed(m *Machine, c *Class) bool {
	return mk.State.Accompanied(c.Rules, m.Counts, false)
}

// itemise makes the items say what is placed of a pod group of which pods have left. What
// remains of items of several classes is no item any more.
func (m *Machine) itemise(g *PodGroup) {
	m.Items = slices.DeleteFunc(m.Items, func(it Items) bool { return it.Group == g })
	for i := range m.Placed {
		p := &m.Placed[i]
		if p.Group != g {
			continue
		}
		if len(g.Parts) > 1 {
			p.Group = g.only(p.Class, p.Level)
		}
		if p.N > 0 {
			m.Items = append(m.Items, Items{Group: p.Group, N: p.N})
		}
	}
}
