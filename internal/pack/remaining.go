package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// budgets returns what is left of the limits of each seller once its nodes and
// the machines planned so far are counted; nil for a seller whose limits do not bind.
func (s *Assignment) budgets() budget {
	out := make(budget, len(s.Pools))
	for i, p := range s.Pools {
		if p.Limits == nil {
			continue
		}
		left := make([]int64, len(s.Space.Names))
		for k, name := range s.Space.Names {
			left[k] = model.Plenty
			if limit, ok := p.Limits[name]; ok {
				left[k] = limit - p.Has[name]
			}
		}
		out[i] = left
	}
	for _, m := range s.machines {
		out.spend(&s.Offerings[m.column], 1)
	}
	return out
}

// headroom returns what all limits of a seller leave once its nodes and the machines
// planned are counted, by resource. One that is exceeded already and that no machine
// adds to is at 0.
func (s *Assignment) headroom(p *model.Pool) amount.List {
	if p.Spec.Spec.Limits == nil {
		return nil
	}
	left := amount.FromResourceList(p.Spec.Spec.Limits.Resources)
	for name, limit := range left {
		left[name] = limit - p.Has[name]
		planned := int64(0)
		for _, m := range s.machines {
			if m.seller == p {
				planned += s.counted(m.column, name)
			}
		}
		if left[name] -= planned; planned == 0 {
			left[name] = max(0, left[name])
		}
	}
	return left
}

// chargeLimits counts the capacity of the nodes that Provisioners with limits have.
func (s *Assignment) chargeLimits() {
	byName := map[string]*model.Pool{}
	for _, p := range s.Pools {
		if p.Spec.Spec.Limits != nil {
			byName[p.Spec.Name], p.Has = p, amount.List{}
		}
	}
	for i := range s.problem.Snapshot.Nodes {
		n := &s.problem.Snapshot.Nodes[i]
		if p := byName[n.Provisioner]; p != nil {
			p.Has = p.Has.Plus(n.Capacity.OfNode())
		}
	}
}

// budget is what a seller's limits still allow, by resource.
type budget [][]int64

// affords returns how many machines of the column may be bought, at most limit.
// A limit on a resource that the type does not have does not bind.
func (b budget) affords(c *model.Offering, limit int64) int64 {
	left := b[c.Pool]
	if left == nil {
		return limit
	}
	return amount.Copies(c.Capacity, left, limit)
}

func (b budget) spend(c *model.Offering, n int64) {
	if left := b[c.Pool]; left != nil {
		model.AddTimes(left, c.Capacity, -n)
	}
}

// kept reports whether nothing is overspent.
func (b budget) kept() bool {
	return !slices.ContainsFunc(b, func(left []int64) bool { return len(left) > 0 && slices.Min(left) < 0 })
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

// limits are those that a solution has to keep, by Provisioner; nil for none. A problem
// is solved without any at first. Those that the result breaks constrain the next one,
// so that a limit which does not bind changes nothing.
type limits []amount.List
