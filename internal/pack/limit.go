package pack

import "github.com/packhorse-io/terraform-provider-packhorse/internal/amount"

// budget is what a seller's limits still allow, by resource.
type budget [][]int64

// budgets returns what is left of the limits of each seller once its nodes and
// the machines planned so far are counted; nil for a seller without limits.
func (s *solver) budgets() budget {
	out := make(budget, len(s.sellers))
	for i, p := range s.sellers {
		if p.limits == nil {
			continue
		}
		left := make([]int64, len(s.space.names))
		for k, name := range s.space.names {
			left[k] = plenty
			if limit, ok := p.limits[name]; ok {
				left[k] = limit - p.used[k]
			}
		}
		out[i] = left
	}
	for _, m := range s.machines {
		out.spend(&s.columns[m.column], 1)
	}
	return out
}

// affords returns how many machines of the column may be bought, at most limit.
// A limit on a resource that the type does not have does not bind.
func (b budget) affords(c *column, limit int64) int64 {
	left := b[c.provisioner]
	if left == nil {
		return limit
	}
	return amount.Copies(c.capacity, left, limit)
}

func (b budget) spend(c *column, n int64) {
	if left := b[c.provisioner]; left != nil {
		addTimes(left, c.capacity, -n)
	}
}

func (b budget) clone() budget {
	out := make(budget, len(b))
	for i, left := range b {
		out[i] = append([]int64(nil), left...)
		if left == nil {
			out[i] = nil
		}
	}
	return out
}
