package purchase

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// equalAtMost bounds the loads of which the last are bought for optimally; those
// before get machines of the best price per unit.
const equalAtMost = 2048

// size is how many loads of the only pod group a machine of an offering holds.
type size struct {
	offering int
	holds    int64
	cost     int64
}

// equalLoads buys for loads that are all alike.
type equalLoads struct{ *purchase }

// buyAll buys for a single pod group, at the least cost: the least for n loads is that
// of one machine and of the loads that it does not hold. It reports false where
// there are several pod groups, or limits do not allow what is cheapest.
func (c equalLoads) buyAll() bool {
	if len(c.groups) != 1 {
		return false
	}
	coming := c.groups[0].Growing()
	sizes := c.sizes(c.left[0] + coming)
	if len(sizes) == 0 {
		return false
	}
	best := slices.MinFunc(sizes, func(a, b size) int { return cmp.Compare(a.rate(), b.rate()) })
	many := max(0, (c.left[0]-equalAtMost)/best.holds)
	last := leastCost(sizes, c.left[0]-many*best.holds, min(coming, c.left[0]), goesOn*best.rate())
	if !c.affordsAll(best, many, last) {
		return false
	}
	if many > 0 {
		c.buyEqual(best, many)
	}
	for _, s := range last {
		c.buyEqual(s, 1)
	}
	return true
}

// affordsAll reports whether the limits allow many machines of one size and these.
func (c equalLoads) affordsAll(one size, many int64, sizes []size) bool {
	left := c.budget.Clone()
	left.Spend(&c.s.Offerings[one.offering], many)
	for _, s := range sizes {
		left.Spend(&c.s.Offerings[s.offering], 1)
	}
	return left.Kept()
}

func (s size) rate() float64 { return float64(s.cost) / float64(s.holds) }

// sizes lists the offerings that hold more than every cheaper one, cheapest first. To
// hold more than the given number of loads is no use.
func (c equalLoads) sizes(loads int64) []size {
	var all []size
	empty := c.s.NewMachine(c.candidates[0])
	for _, k := range c.candidates {
		c.s.Reset(empty, k)
		if n, _ := c.s.Admit(empty, c.groups[0], loads); n > 0 {
			all = append(all, size{offering: k, holds: n, cost: c.s.Offerings[k].Price + c.nodeCost()})
		}
	}
	slices.SortStableFunc(all, func(a, b size) int { return cmp.Compare(a.cost, b.cost) })
	most := int64(0)
	return slices.DeleteFunc(all, func(s size) bool {
		needless := s.holds <= most
		most = max(most, s.holds)
		return needless
	})
}

// leastCost returns the sizes that hold n loads at the least cost, the largest first.
// Room for more, at most for so many, counts as worth what is given for each.
func leastCost(sizes []size, n, more int64, worth float64) []size {
	cost, pick := make([]int64, n+more+1), make([]int, n+more+1)
	for i := int64(1); i < int64(len(cost)); i++ {
		cost[i] = math.MaxInt64
		for k, s := range sizes {
			if total := s.cost + cost[max(0, i-s.holds)]; total < cost[i] {
				cost[i], pick[i] = total, k
			}
		}
	}
	least, at := float64(cost[n]), n
	for i := int64(1); i <= more; i++ {
		if total := float64(cost[n+i]) - float64(worth*float64(i)); total < least {
			least, at = total, n+i
		}
	}
	n = at
	var out []size
	for ; n > 0; n -= sizes[pick[n]].holds {
		out = append(out, sizes[pick[n]])
	}
	slices.SortFunc(out, func(a, b size) int { return cmp.Compare(b.holds, a.holds) })
	return out
}

// buyEqual buys so many machines of a size, as full as they get.
func (c equalLoads) buyEqual(s size, times int64) {
	m := c.s.NewMachine(s.offering)
	clear(c.taken)
	c.take(m, 0, min(s.holds, c.left[0]))
	if c.groups[0].Growing() > 0 {
		m.Ahead = s.holds - m.Items[0].N
	} else {
		c.s.Shrink(m, func(col *model.Offering) bool { return c.budget.Affords(col, times) == times })
	}
	for range times {
		if last := len(c.bought) - 1; last >= 0 && c.bought[last].Offering == m.Offering && c.bought[last].Items[0] == m.Items[0] {
			m = c.bought[last] // content is shared
		}
		c.bought = append(c.bought, m)
	}
	c.budget.Spend(&c.s.Offerings[m.Offering], times)
	c.left[0] -= times * m.Items[0].N
	c.cost += times * c.costOf(m)
}
