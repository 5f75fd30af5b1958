package purchase

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Pods of an owner that grows step by step are followed by more of their kind, as far as one
// can tell. Small machines cost more for each pod than large ones, most of all those that are
// bought for what is left over of a step. So if all pods of a purchase are alike, room for pods
// to come counts as worth what they cost on the best machines, times the chance that they come.
// Room for more pods than are bought for is worth nothing.

// goesOn is the chance that an owner takes another step after it has done so twice in a row: (2
// + 1) of (2 + 2), by the rule of succession.
const goesOn = 0.75

// equalAtMost bounds the items of which the last are bought for optimally; those
// before get machines of the best price per unit.
const equalAtMost = 2048

// size is how many items of the only pod group a machine of an offering holds.
type size struct {
	offering int
	holds    int64
	cost     int64
}

// buyEqual buys for a single pod group, at the least cost: the least for n items is that
// of one machine and of the items that it does not hold. It returns nil where there are
// several pod groups, or limits do not allow what is cheapest.
func buyEqual(r *request) *bought {
	if len(r.asked) != 1 || !r.Uses(assign.Equal) {
		return nil
	}
	g, b := r.asked[0], nothingBought(r)
	coming := g.Growing()
	sizes := r.sizes(g, g.N+coming)
	if len(sizes) == 0 {
		return nil
	}
	best := slices.MinFunc(sizes, func(a, b size) int { return cmp.Compare(a.perItem(), b.perItem()) })
	many := max(0, (g.N-equalAtMost)/best.holds)
	last := leastCost(sizes, g.N-many*best.holds, min(coming, g.N), goesOn*best.perItem())
	if !b.affordsAll(best, many, last) {
		return nil
	}
	if many > 0 {
		b.buyFull(best, many)
	}
	for _, s := range last {
		b.buyFull(s, 1)
	}
	return b
}

// affordsAll reports whether the limits allow many machines of one size and these.
func (b *bought) affordsAll(one size, many int64, sizes []size) bool {
	left := b.limits.Clone()
	lacks := func(s size, n int64) bool {
		o := &b.of.Offerings[s.offering]
		short := left.Affords(o, n) < n
		left.Spend(o, n)
		return short
	}
	return !lacks(one, many) && !slices.ContainsFunc(sizes, func(s size) bool { return lacks(s, 1) })
}

func (s size) perItem() float64 { return float64(s.cost) / float64(s.holds) }

// sizes lists the offerings that hold more of the pod group than every cheaper one, cheapest
// first. To hold more than the given number of items is no use.
func (r *request) sizes(g *assign.PodGroup, items int64) []size {
	var all []size
	empty := r.NewMachine(r.candidates[0])
	for _, k := range r.candidates {
		r.Reset(empty, k)
		if n, _ := r.Admit(empty, g, items); n > 0 {
			all = append(all, size{offering: k, holds: n, cost: r.Offerings[k].Cost})
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

// leastCost returns the sizes that hold n items at the least cost, the largest first.
// Room for more, at most for so many, counts as worth what is given for each.
func leastCost(sizes []size, n, more int64, each float64) []size {
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
		if total := float64(cost[n+i]) - float64(each*float64(i)); total < least {
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

// buyFull buys so many machines of a size, as full of the only pod group as they get.
func (b *bought) buyFull(s size, times int64) {
	r, g := b.of, b.of.asked[0]
	m := r.NewMachine(s.offering)
	n, residual := r.Admit(m, g, min(s.holds, b.left[0]))
	m.Add(g, n, residual)
	if g.Growing() > 0 {
		m.Ahead = s.holds - n
	} else {
		r.Shrink(m, func(o *model.Offering) bool { return b.limits.Affords(o, times) == times })
	}
	if last := len(b.machines) - 1; last >= 0 && b.machines[last].Offering == m.Offering && b.machines[last].Items[0] == m.Items[0] {
		m = b.machines[last] // content is shared
	}
	b.buy(m, times)
}
