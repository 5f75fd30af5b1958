package pack

import "github.com/packhorse-io/terraform-provider-packhorse/internal/assign"

// withdraw takes the places of the pods that were not brought to them, and reports
// whether there are any.
func (s replayer) withdraw(moves []*move) bool {
	var list []assign.Withdrawal
	for _, m := range moves {
		if m.left > 0 {
			m.class.Refusals++
			list = append(list, m.withdrawal())
		}
	}
	if len(list) == 0 {
		return false
	}
	s.Withdraw(list)
	return true
}

// withdrawal takes the pods that were not brought to their place from there.
func (m *move) withdrawal() assign.Withdrawal {
	if m.site.machine {
		return assign.Withdrawal{Machine: true, Index: m.site.index, Placed: m.place, N: m.left}
	}
	return assign.Withdrawal{Index: m.place, N: m.left}
}
