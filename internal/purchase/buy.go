// Package purchase buys machines for groups of pods: step by step by the value of what a machine
// holds, by linear programs over patterns, and by local search from there. Pod groups and what
// limits leave in, machines out.
package purchase

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// Purchaser buys machines for pods and puts them there.
type Purchaser struct {
	*assign.Assignment
	buying *buyer
}

// New returns a purchaser for the assignment that takes so many trials, 0 for what is usual.
func New(a *assign.Assignment, trials int) *Purchaser {
	return &Purchaser{Assignment: a, buying: newBuyer(a.Market, len(a.Problem.Pods), trials)}
}

// buy makes purchases and carries them out: roughly at first where there are many pod groups.
func (s *Purchaser) buy(groups []*assign.PodGroup, tier []*model.Pool) {
	groups = pooled(groups)
	if pools := rough(groups); s.Uses(assign.Rough) && len(pools) < len(groups) {
		s.buyRoughly(pools, groups, tier)
	}
	for _, c := range s.buying.purchases(groups, tier, s.Remaining()) {
		for _, m := range c.bought {
			s.Buy(m)
		}
	}
}

// purchases makes a purchase of each region, within what limits leave.
func (s *buyer) purchases(groups []*assign.PodGroup, tier []*model.Pool, b assign.Remaining) []*purchase {
	var out []*purchase
	regions := s.regions(groups, tier, b)
	for _, groups := range regions {
		c := s.newPurchase(groups, tier, b, byBalance)
		c.regions = len(regions)
		c = c.best()
		out, b = append(out, c), c.budget
	}
	return out
}

// best returns a purchase that no more effort is worth while for. The first is
// made step by step. Where it costs more than it has to, a second one begins with
// the best LP solution of machines, or fills machines in another way where none can be looked for.
func (c *purchase) best() *purchase {
	if len(c.groups) == 0 || c.s.Uses(assign.Equal) && (equalLoads{c}).buyAll() {
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
	if mixable := c.patternsPay() && c.s.Uses(assign.Patterns); mixable || float64(c.cost) > least*(1+nearEnough) && c.s.Uses(assign.SecondStyle) {
		other := c.again()
		if mixable {
			patternProgram{other}.solve(c, guess.value)
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

// bestUnderLimits returns the purchase with the fewest loads left over, where limits
// may not allow all: the smallest first are most, the largest first pack best.
func (c *purchase) bestUnderLimits(guess duals) *purchase {
	other := c.again()
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
	for i, l := range c.groups {
		worth += float64(guess.value[i] * float64(l.N-c.left[i]))
	}
	c.search(worth, guess)
	return c
}

// fewMachines returns a purchase of few large machines where the number of nodes is limited;
// nil where it is not.
func (c *purchase) fewMachines() *purchase {
	if !slices.ContainsFunc(c.pools, func(p *model.Pool) bool { return p.Limits[amount.Nodes] > 0 }) {
		return nil
	}
	out := c.again()
	for _, k := range c.candidates {
		out.perNode = max(out.perNode, c.s.Offerings[k].Price)
	}
	out.style = byBalance
	out.sort(false)
	out.pricing = price.New(c.s.Supply, c.candidates, out.nodeCost())
	out.run()
	out.cost -= out.perNode * int64(len(out.bought))
	out.perNode, out.pricing = 0, c.pricing
	return out
}

// better reports whether c leaves less unbought than o, or else costs less, or
// else needs fewer machines.
func (c *purchase) better(o *purchase) bool {
	return cmp.Or(cmp.Compare(c.unmet(), o.unmet()), cmp.Compare(c.cost, o.cost), cmp.Compare(len(c.bought), len(o.bought))) < 0
}

func (c *purchase) unmet() int64 {
	n := int64(0)
	for _, left := range c.left {
		n += left
	}
	return n
}

// BuyAll fills machines that are planned already and buys others for the pod groups,
// Provisioners of higher weight first.
func (s *Purchaser) BuyAll(groups []*assign.PodGroup) {
	for _, l := range groups {
		s.topUp(l)
	}
	for _, tier := range s.Tiers() {
		s.buy(groups, tier)
	}
	for _, l := range groups {
		s.enlarge(l)
	}
	for _, l := range groups {
		for _, p := range l.Parts {
			p.Class.Booked = 0
		}
		if l.N > 0 {
			s.Uncount(l, l.N)
			limited := s.limitedBy(l)
			for _, p := range l.Parts {
				p.Class.TookBack = true
				p.Class.Limited = p.Class.Limited || limited
			}
		}
	}
}

// limitedBy reports whether the pod group could be bought if limits were higher.
func (s *Purchaser) limitedBy(l *assign.PodGroup) bool {
	b := s.Remaining()
	for k := range l.Mask.All {
		if b.Affords(&s.Offerings[k], 1) == 0 {
			return true
		}
	}
	return false
}
