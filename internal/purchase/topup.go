package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// topUp uses what is left of machines that are planned already.
func (s *Purchaser) topUp(l *assign.PodGroup) {
	for i, m := range s.Machines {
		if l.N == 0 {
			return
		}
		if len(l.Parts) == 1 && !s.Followed(m, l.Parts[0].Class) {
			continue
		}
		k, residual := s.Admit(m, l, l.N)
		if k == 0 {
			continue
		}
		m = m.Clone()
		m.Add(l, k, residual)
		m.Ahead = 0
		s.Machines[i] = m
		s.Hand(m, l, k)
	}
}

// enlarge makes planned machines larger for loads that limits leave without one. What is
// bought for the least price may leave room within a limit that no further machine fits
// into, for example memory on machines that have no more cores.
func (s *Purchaser) enlarge(l *assign.PodGroup) {
	for i, m := range s.Machines {
		if l.N == 0 {
			return
		}
		if len(l.Parts) == 1 && !s.Followed(m, l.Parts[0].Class) {
			continue
		}
		for {
			larger, n, ok := s.larger(m, l)
			if !ok {
				break
			}
			m = larger
			s.Machines[i] = m
			s.Hand(m, l, n)
		}
	}
}

// larger returns a copy of the machine on the cheapest offering that also holds loads of
// the pod group, with as many of them as that takes, and how many those are.
func (s *Purchaser) larger(m *assign.Machine, l *assign.PodGroup) (*assign.Machine, int64, bool) {
	if l.N == 0 || !m.Mask.Meets(l.Mask) {
		return nil, 0, false
	}
	out, left := m.Clone(), s.Remaining()
	left.Spend(&s.Offerings[m.Offering], -1)
	need := slices.Clone(m.Used)
	model.AddTimes(need, l.Need, 1)
	for k := range l.Mask.Within(m.Pool.Offerings) { // sorted by price
		if k == m.Offering || !m.Mask.Has(k) || !model.Fits(need, s.Offerings[k].Room) || left.Affords(&s.Offerings[k], 1) == 0 ||
			!s.LeavesChoice(m.Residual, &s.Offerings[k]) || !s.SameDaemons(k, m.Offering) {
			continue
		}
		out.Offering = k
		if n, residual := s.Admit(out, l, l.N); n > 0 {
			out.Pods, out.Placed, out.Ahead = slices.Clone(m.Pods), slices.Clone(m.Placed), 0
			out.Add(l, n, residual)
			return out, n, true
		}
	}
	return nil, 0, false
}
