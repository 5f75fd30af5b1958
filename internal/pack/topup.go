package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// topUp uses what is left of machines that are planned already.
func (s *purchaser) topUp(l *lot) {
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

// enlarge makes planned machines larger for loads that limits leave without one. What is
// bought for the least price may leave room within a limit that no further machine fits
// into, for example memory on machines that have no more cores.
func (s *purchaser) enlarge(l *lot) {
	for i, m := range s.machines {
		if l.n == 0 {
			return
		}
		if len(l.parts) == 1 && !s.followed(m, l.parts[0].class) {
			continue
		}
		for {
			larger, n, ok := s.larger(m, l)
			if !ok {
				break
			}
			m = larger
			s.machines[i] = m
			s.hand(m, l, n)
		}
	}
}

// larger returns a copy of the machine on the cheapest offering that also holds loads of
// the lot, with as many of them as that takes, and how many those are.
func (s *purchaser) larger(m *machine, l *lot) (*machine, int64, bool) {
	if l.n == 0 || !m.mask.Meets(l.mask) {
		return nil, 0, false
	}
	out, left := m.clone(), s.budgets()
	left.spend(&s.Offerings[m.column], -1)
	need := slices.Clone(m.used)
	model.AddTimes(need, l.need, 1)
	for k := range l.mask.Within(m.seller.Offerings) { // sorted by price
		if k == m.column || !m.mask.Has(k) || !model.Fits(need, s.Offerings[k].Room) || left.affords(&s.Offerings[k], 1) == 0 ||
			!s.LeavesChoice(m.residual, &s.Offerings[k]) || !s.sameDaemons(k, m.column) {
			continue
		}
		out.column = k
		if n, residual := s.admit(out, l, l.n); n > 0 {
			out.pods, out.placed, out.ahead = slices.Clone(m.pods), slices.Clone(m.placed), 0
			out.add(l, n, residual)
			return out, n, true
		}
	}
	return nil, 0, false
}
