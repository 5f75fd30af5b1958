package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// buy makes covers and carries them out: roughly at first where there are many lots.
func (s *solver) buy(lots []*lot, tier []*model.Pool) {
	lots = pooled(lots)
	if pools := rough(lots); s.uses(Rough) && len(pools) < len(lots) {
		s.buyRoughly(pools, lots, tier)
	}
	for _, c := range s.covers(lots, tier) {
		for _, m := range c.bought {
			m = s.own(m)
			s.machines = append(s.machines, m)
			for _, it := range m.items {
				s.hand(m, it.lot, it.n)
			}
		}
	}
}

// covers makes a cover of each region.
func (s *solver) covers(lots []*lot, tier []*model.Pool) []*cover {
	var out []*cover
	b := s.budgets()
	regions := s.regions(lots, tier, b)
	for _, lots := range regions {
		c := s.newCover(lots, tier, b, byBalance)
		c.regions = len(regions)
		c = c.best()
		out, b = append(out, c), c.budget
	}
	return out
}

// best returns a cover that no more effort is worth while for. The first is
// made step by step. Where it costs more than it has to, a second one begins with
// the best mix of machines, or where there is none fills machines in another way.
func (c *cover) best() *cover {
	if len(c.lots) == 0 || c.s.uses(Equal) && c.runEqual() {
		return c
	}
	guess, least := c.guess()
	c.run()
	if c.limited && c.unmet() > 0 {
		return c.bestUnderLimits(guess)
	}
	if float64(c.cost) <= least*(1+closeEnough) {
		return c
	}
	if mixable := c.mixable() && c.s.uses(Patterns); mixable || float64(c.cost) > least*(1+nearEnough) && c.s.uses(SecondStyle) {
		other := c.anew()
		if mixable {
			other.mix(c, guess.worth)
			c.duals = other.duals
		} else {
			other.style = bySize
		}
		other.run()
		if other.better(c) {
			c = other
		}
	}
	c.search(least, guess)
	return c
}

// bestUnderLimits returns the cover with the fewest loads left over, where limits
// may not allow all: the smallest first are most, the largest first pack best.
func (c *cover) bestUnderLimits(guess prices) *cover {
	other := c.anew()
	other.style = byBalance
	other.sort(false)
	other.run()
	if other.unmet() < c.unmet() {
		c = other
	}
	if few := c.fewMachines(); few != nil && few.unmet() < c.unmet() {
		c = few
	}
	worth := 0.0
	for i, l := range c.lots {
		worth += float64(guess.worth[i] * float64(l.n-c.left[i]))
	}
	c.search(worth, guess)
	return c
}

// fewMachines returns a cover of few large machines where the number of nodes is limited;
// nil where it is not.
func (c *cover) fewMachines() *cover {
	if !slices.ContainsFunc(c.sellers, func(p *model.Pool) bool { return p.Limits[amount.Nodes] > 0 }) {
		return nil
	}
	out := c.anew()
	for _, k := range c.columns {
		out.perNode = max(out.perNode, c.s.Offerings[k].Price)
	}
	out.style = byBalance
	out.sort(false)
	out.pricing = price.New(&c.s.Supply, c.columns, out.nodeCost())
	out.run()
	out.cost -= out.perNode * int64(len(out.bought))
	out.perNode, out.pricing = 0, c.pricing
	return out
}

// own returns the machine as one of its own, which still shares its content.
func (s *solver) own(m *machine) *machine {
	out := *m
	pods := int64(0)
	for _, it := range m.items {
		for _, p := range it.lot.parts {
			pods += it.n * p.n
		}
	}
	out.pods, out.placed = make([]int, 0, pods), make([]placement, 0, len(m.items))
	return &out
}

// assign gives the pods of k loads of the parts to the machine.
func (s *solver) assign(m *machine, l *lot, parts []part, k int64) {
	for _, p := range parts {
		m.pods = append(m.pods, p.class.take(k*p.n)...)
		m.placed = append(m.placed, placement{lot: l, class: p.class, level: p.level, n: k * p.n})
		s.state.Join(p.class.Rules, k*p.n)
	}
}

// better reports whether c leaves less unbought than o, or else costs less, or
// else needs fewer machines.
func (c *cover) better(o *cover) bool {
	return cmp.Or(cmp.Compare(c.unmet(), o.unmet()), cmp.Compare(c.cost, o.cost), cmp.Compare(len(c.bought), len(o.bought))) < 0
}

func (c *cover) unmet() int64 {
	n := int64(0)
	for _, left := range c.left {
		n += left
	}
	return n
}
