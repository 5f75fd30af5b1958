package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// machine is to be bought. Machines with the same content share their items.
type machine struct {
	seller   *model.Pool
	column   int // the cheapest that holds the content
	items    []item
	used     []int64      // by pods, without DaemonSets
	mask     model.Bitset // columns that the lots allow; not all of them hold the content
	residual int
	host     topology.NodeCounts
	ahead    int64 // more loads that it has been bought to have room for
	// Once assigned: the pods (indices of Problem.Pods), in the order of placed.
	pods   []int
	placed []placement
}

// item is a number of loads of a lot.
type item struct {
	lot *lot
	n   int64
}

// placement is a number of pods of a class on a machine, bought for a lot.
type placement struct {
	lot   *lot
	class *class
	level level
	n     int64
}

// nodePlacement is a number of pods of a class on a node that exists.
type nodePlacement struct {
	placement
	node *node
	pods []int
}

// admit returns how many pods of the lot the machine can take as it is, at most
// limit, and the residual that it then has.
func (s *Market) admit(m *machine, l *lot, limit int64) (int64, int) {
	if !l.mask.Has(m.column) {
		return 0, 0
	}
	col := &s.Offerings[m.column]
	for i, n := range l.need {
		if n > 0 {
			free := col.Room[i] - m.used[i]
			if free < n {
				return 0, 0 // as most of the time
			}
			limit = min(limit, free/n)
		}
	}
	residual, ok := s.Merge(m.residual, l.opt.Residual[col.Pool])
	if !ok || residual != m.residual && !s.LeavesChoice(residual, col) {
		return 0, 0
	}
	return m.host.Room(l.host, limit), residual
}

// add puts n pods of the lot on the machine, which must not be shared.
func (m *machine) add(l *lot, n int64, residual int) {
	model.AddTimes(m.used, l.need, n)
	m.host = m.host.Plus(l.host, n)
	m.residual = residual
	for i := range m.items {
		if m.items[i].lot == l {
			m.items[i].n += n
			return
		}
	}
	m.mask.Keep(l.mask)
	m.items = append(m.items, item{lot: l, n: n})
}

// newMachine returns an empty machine of a column.
func (s *Market) newMachine(column int) *machine {
	m := &machine{used: make([]int64, len(s.Space.Names)), mask: model.NewBitset(len(s.Offerings))}
	s.reset(m, column)
	return m
}

// reset makes a machine that nothing shares an empty one of a column.
func (s *Market) reset(m *machine, column int) {
	c := &s.Offerings[column]
	p := s.Pools[c.Pool]
	m.seller, m.column, m.residual, m.items, m.ahead = p, column, p.Residual, m.items[:0], 0
	m.host = append(m.host[:0], s.state.DaemonCounts(c)...)
	clear(m.used)
	copy(m.mask, p.Mask)
}

// clone returns a machine of the same content that shares nothing.
func (m *machine) clone() *machine {
	out := *m
	out.items, out.used, out.mask, out.host = slices.Clone(m.items), slices.Clone(m.used), m.mask.Clone(), slices.Clone(m.host)
	return &out
}

// roomFor returns the columns that have room for the machine's content. It holds until
// it is called again.
func (s *Market) roomFor(m *machine) model.Bitset {
	s.roomy = append(s.roomy[:0], m.mask...)
	s.keepRoomy(s.roomy, m.used)
	return s.roomy
}

// shrink moves the machine to its cheapest column. Columns that would break the
// limit are left out.
func (s *Market) shrink(m *machine, within func(*model.Offering) bool) {
	for k := range s.roomFor(m).Within([2]int{m.seller.Offerings[0], m.column}) { // sorted by price
		if s.LeavesChoice(m.residual, &s.Offerings[k]) && within(&s.Offerings[k]) && s.sameDaemons(k, m.column) {
			m.column = k
			return
		}
	}
}

// sameDaemons reports whether the content may move between columns as far as
// constraints with DaemonSet pods go.
func (s *Market) sameDaemons(to, from int) bool {
	social := func(i int) bool { return s.state.Daemons[i].Matters() }
	a, b := s.Offerings[to].DaemonSets, s.Offerings[from].DaemonSets
	return slices.Equal(a, b) || !slices.ContainsFunc(a, social) && !slices.ContainsFunc(b, social)
}

// refresh sets what the machine's labels and columns must be from its content
// alone: loads that have left no longer count. The machine must not be shared.
func (s *Market) refresh(m *machine) {
	m.residual = m.seller.Residual
	copy(m.mask, m.seller.Mask)
	for _, it := range m.items {
		m.residual, _ = s.Merge(m.residual, it.lot.opt.Residual[m.seller.Number])
		m.mask.Keep(it.lot.mask)
	}
}

// followed reports whether the machine has the pods that the class must share a
// node with.
func (s *Market) followed(m *machine, c *class) bool {
	return s.state.Accompanied(c.Rules, m.host, false)
}

// itemise makes the items say what is placed of a lot of which pods have left. What
// remains of loads of several classes is no load any more.
func (m *machine) itemise(l *lot) {
	m.items = slices.DeleteFunc(m.items, func(it item) bool { return it.lot == l })
	for i := range m.placed {
		p := &m.placed[i]
		if p.lot != l {
			continue
		}
		if len(l.parts) > 1 {
			p.lot = l.only(p.class, p.level)
		}
		if p.n > 0 {
			m.items = append(m.items, item{lot: p.lot, n: p.n})
		}
	}
}
