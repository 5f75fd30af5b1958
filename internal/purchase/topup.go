package purchase

import "github.com/packhorse-io/terraform-provider-packhorse/internal/assign"

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
