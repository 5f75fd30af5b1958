package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
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

// buySpecial buys for the pod groups that only special types hold, and uses the room that is
// left there for others. Then it is known what is bought anyway: no special type is bought for
// pods that do not need it, and none of them takes the room of one that does.
func (s *Purchaser) buySpecial(groups []*assign.PodGroup) {
	var special, plain []*assign.PodGroup
	for _, l := range groups {
		mask := l.Mask.Clone()
		if mask.Remove(s.Special); mask.Empty() {
			special = append(special, l)
		} else if !l.Mask.Meets(s.Special) && len(l.Parts) == 1 {
			plain = append(plain, l)
		}
	}
	if len(special) == 0 || len(plain) == 0 {
		return
	}
	for _, tier := range s.Tiers() {
		s.buy(special, tier)
	}
	for _, l := range plain {
		if wide := s.Widened(l); slices.ContainsFunc(s.Machines(), func(m *assign.Machine) bool { return wide.Mask.Has(m.Offering) }) {
			s.topUp(wide)
			l.N = wide.N
		}
	}
}
