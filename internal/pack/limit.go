package pack

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// mostTightened bounds how many solutions may break limits: after so many all hold.
const mostTightened = 4

// tighten adds the limits that a solution breaks, and reports whether there are any.
func (l limits) tighten(s *solver) bool {
	times, some := 1, false
	for _, known := range l {
		times += len(known)
	}
	for _, p := range s.Pools {
		left := s.headroom(p)
		for name, v := range left {
			if _, known := l[p.Number][name]; known || v >= 0 && times < mostTightened {
				continue
			}
			if l[p.Number] == nil {
				l[p.Number] = amount.List{}
			}
			l[p.Number][name] = amount.FromResourceList(p.Spec.Spec.Limits.Resources)[name]
			some = some || v < 0
		}
	}
	return some
}
