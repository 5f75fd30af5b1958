package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// purchaser buys machines for pods and puts them there.
type purchaser struct {
	*Assignment
	buying *buyer
}

// buy makes covers and carries them out: roughly at first where there are many lots.
func (s *purchaser) buy(lots []*lot, tier []*model.Pool) {
	lots = pooled(lots)
	if pools := rough(lots); s.uses(Rough) && len(pools) < len(lots) {
		s.buyRoughly(pools, lots, tier)
	}
	for _, c := range s.buying.covers(lots, tier, s.budgets()) {
		for _, m := range c.bought {
			m = s.own(m)
			s.machines = append(s.machines, m)
			for _, it := range m.items {
				s.hand(m, it.lot, it.n)
			}
		}
	}
}

// covers makes a cover of each region, within what limits leave.
func (s *buyer) covers(lots []*lot, tier []*model.Pool, b budget) []*cover {
	var out []*cover
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
	if len(c.lots) == 0 || c.s.uses(Equal) && (equalLoads{c}).runEqual() {
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
			patternProgram{other}.mix(c, guess.worth)
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
	out.pricing = price.New(c.s.Supply, c.columns, out.nodeCost())
	out.run()
	out.cost -= out.perNode * int64(len(out.bought))
	out.perNode, out.pricing = 0, c.pricing
	return out
}

// own returns the machine as one of its own, which still shares its content.
func (s *purchaser) own(m *machine) *machine {
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

// buyAll fills machines that are planned already and buys others for the lots,
// Provisioners of higher weight first.
func (s *purchaser) buyAll(lots []*lot) {
	for _, l := range lots {
		s.topUp(l)
	}
	for _, tier := range s.tiers() {
		s.buy(lots, tier)
	}
	for _, l := range lots {
		s.enlarge(l)
	}
	for _, l := range lots {
		for _, p := range l.parts {
			p.class.booked = 0
		}
		if l.n > 0 {
			s.leave(l, l.n)
			limited := s.limitedBy(l)
			for _, p := range l.parts {
				p.class.tookBack = true
				p.class.limited = p.class.limited || limited
			}
		}
	}
}

// limitedBy reports whether the lot could be bought if limits were higher.
func (s *purchaser) limitedBy(l *lot) bool {
	b := s.budgets()
	for k := range l.mask.All {
		if b.affords(&s.Offerings[k], 1) == 0 {
			return true
		}
	}
	return false
}
