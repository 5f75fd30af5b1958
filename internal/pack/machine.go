package pack

import "slices"

// machine is to be bought. Machines with the same content share their items.
type machine struct {
	seller   *seller
	column   int // the cheapest that holds the content
	items    []item
	used     []int64 // by pods, without DaemonSets
	mask     bitset  // columns that the lots allow; not all of them hold the content
	residual int
	host     hostState
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
func (s *solver) admit(m *machine, l *lot, limit int64) (int64, int) {
	if !l.mask.has(m.column) {
		return 0, 0
	}
	col := &s.columns[m.column]
	for i, n := range l.need {
		if n > 0 {
			free := col.room[i] - m.used[i]
			if free < n {
				return 0, 0 // as most of the time
			}
			limit = min(limit, free/n)
		}
	}
	residual, ok := s.merge(m.residual, l.opt.residual[col.provisioner])
	if !ok || residual != m.residual && !s.leavesChoice(residual, col) {
		return 0, 0
	}
	return m.host.room(l.host, limit), residual
}

// add puts n pods of the lot on the machine, which must not be shared.
func (m *machine) add(l *lot, n int64, residual int) {
	addTimes(m.used, l.need, n)
	m.host = m.host.plus(l.host, n)
	m.residual = residual
	for i := range m.items {
		if m.items[i].lot == l {
			m.items[i].n += n
			return
		}
	}
	m.mask.keep(l.mask)
	m.items = append(m.items, item{lot: l, n: n})
}

// newMachine returns an empty machine of a column.
func (s *solver) newMachine(column int) *machine {
	m := &machine{used: make([]int64, len(s.space.names)), mask: newBitset(len(s.columns))}
	s.reset(m, column)
	return m
}

// reset makes a machine that nothing shares an empty one of a column.
func (s *solver) reset(m *machine, column int) {
	c := &s.columns[column]
	p := s.sellers[c.provisioner]
	m.seller, m.column, m.residual, m.items, m.ahead = p, column, p.residual, m.items[:0], 0
	m.host = append(m.host[:0], s.daemonHost(c)...)
	clear(m.used)
	copy(m.mask, p.mask)
}

// clone returns a machine of the same content that shares nothing.
func (m *machine) clone() *machine {
	out := *m
	out.items, out.used, out.mask, out.host = slices.Clone(m.items), slices.Clone(m.used), m.mask.clone(), slices.Clone(m.host)
	return &out
}

// roomFor returns the columns that have room for the machine's content. It holds until
// it is called again.
func (s *solver) roomFor(m *machine) bitset {
	s.roomy = append(s.roomy[:0], m.mask...)
	s.keepRoomy(s.roomy, m.used)
	return s.roomy
}

// shrink moves the machine to its cheapest column. Columns that would break the
// limit are left out.
func (s *solver) shrink(m *machine, within func(*column) bool) {
	for k := range s.roomFor(m).within([2]int{m.seller.columns[0], m.column}) { // sorted by price
		if s.leavesChoice(m.residual, &s.columns[k]) && within(&s.columns[k]) && s.sameDaemons(k, m.column) {
			m.column = k
			return
		}
	}
}

// sameDaemons reports whether the content may move between columns as far as
// constraints with DaemonSet pods go.
func (s *solver) sameDaemons(to, from int) bool {
	social := func(i int) bool {
		d := &s.daemons[i]
		return len(d.host)+len(d.member)+len(d.repels) > 0
	}
	a, b := s.columns[to].daemons, s.columns[from].daemons
	return slices.Equal(a, b) || !slices.ContainsFunc(a, social) && !slices.ContainsFunc(b, social)
}
