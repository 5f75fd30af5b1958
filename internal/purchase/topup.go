package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// topUp uses what is left of machines that are planned already.
func (s *Purchaser) topUp(l *assign.PodGroup) {
	for i, m := range s.Machines() {
		if l.N == 0 {
			return
		}
		if len(l.Parts) == 1 && !s.Followed(m, l.Parts[0].Class) {
			continue
		}
		if k, residual := s.Admit(m, l, l.N); k > 0 {
			s.Extend(i, m.Offering, l, k, residual)
		}
	}
}

// enlarge makes planned machines larger for items that limits leave without one. What is
// bought for the least price may leave room within a limit that no further machine fits
// into, for example memory on machines that have no more cores.
func (s *Purchaser) enlarge(l *assign.PodGroup) {
	for i, m := range s.Machines() {
		if l.N == 0 {
			return
		}
		if len(l.Parts) == 1 && !s.Followed(m, l.Parts[0].Class) {
			continue
		}
		for s.enlargeOne(i, l) {
		}
	}
}

// enlargeOne moves machine i to the cheapest offering that also holds items of the pod
// group, puts as many of them there as that takes, and reports whether there is one.
func (s *Purchaser) enlargeOne(i int, l *assign.PodGroup) bool {
	m := s.Machines()[i]
	if l.N == 0 || !m.Mask.Meets(l.Mask) {
		return false
	}
	to, left := *m, s.Remaining()
	left.Spend(&s.Offerings[m.Offering], -1)
	need := slices.Clone(m.Used)
	model.AddTimes(need, l.Need, 1)
	for k := range l.Mask.Within(m.Pool.Offerings) { // sorted by price
		if k == m.Offering || !m.Mask.Has(k) || !model.Fits(need, s.Offerings[k].Room) || left.Affords(&s.Offerings[k], 1) == 0 ||
			!s.LeavesChoice(m.Residual, &s.Offerings[k]) || !s.SameDaemons(k, m.Offering) {
			continue
		}
		to.Offering = k
		if n, residual := s.Admit(&to, l, l.N); n > 0 {
			s.Extend(i, k, l, n, residual)
			return true
		}
	}
	return false
}
