package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// limits are those that a solution has to keep, by Provisioner; nil for none. A problem
// is solved without any at first. Those that the result breaks constrain the next one,
// so that a limit which does not bind changes nothing.
type limits []amount.List

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

// headroom returns what all limits of a seller leave once its nodes and the machines
// planned are counted, by resource. One that is exceeded already and that no machine
// adds to is at 0.
func (s *solver) headroom(p *model.Pool) amount.List {
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

// counted returns how much of a resource a machine of a column counts against limits,
// whichever of those that are offered with it is bought.
func (s *solver) counted(column int, resource string) int64 {
	of := &s.Offerings[column]
	has := s.Pools[of.Pool].Catalogue.Capacity[resource]
	if has == nil {
		return 0
	}
	most := has[of.TypeIndex]
	for _, j := range of.With {
		most = max(most, has[s.Offerings[j].TypeIndex])
	}
	return most
}

// chargeLimits counts the capacity of the nodes that Provisioners with limits have.
func (s *solver) chargeLimits() {
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

// budgets returns what is left of the limits of each seller once its nodes and
// the machines planned so far are counted; nil for a seller whose limits do not bind.
func (s *solver) budgets() budget {
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

// enlarge makes planned machines larger for loads that limits leave without one. What is
// bought for the least price may leave room within a limit that no further machine fits
// into, for example memory on machines that have no more cores.
func (s *solver) enlarge(l *lot) {
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
func (s *solver) larger(m *machine, l *lot) (*machine, int64, bool) {
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
