package purchase

import (
	"cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// bought is a number of machines for a request, what they cost, and what is left to be bought
// and of the limits.
type bought struct {
	of       *request
	machines []*assign.Machine // those of equal content may share it
	cost     int64             // what is paid, without the surcharge of the request
	left     []int64           // items of each pod group
	limits   assign.RemainingLimits
	onNodes  [][]assign.Items // by node of the request, what has been put there; no list where all hold what they held
}

// nothingBought is where buying for a request begins.
func nothingBought(r *request) *bought {
	return &bought{of: r, left: r.counts(), limits: r.limits.Clone(), onNodes: make([][]assign.Items, len(r.nodes))}
}

// restated returns it as bought for another statement of the same request, which asks for
// the same pod groups within the same limits.
func (b *bought) restated(r *request) *bought {
	out := *b
	out.of = r
	return &out
}

// buy buys the machine as often as the counts and limits allow, at most so often and at least
// once, and returns how often that is.
func (b *bought) buy(m *assign.Machine, times int64) int64 {
	o := &b.of.Offerings[m.Offering]
	for _, it := range m.Items {
		times = min(times, b.left[it.Group.Index]/it.N)
	}
	times = max(1, b.limits.Affords(o, times))
	b.limits.Spend(o, times)
	for _, it := range m.Items {
		b.left[it.Group.Index] -= it.N * times
	}
	b.cost += times * o.Cost
	for range times {
		b.machines = append(b.machines, m)
	}
	return times
}

// affords reports whether limits allow one more machine of the offering.
func (b *bought) affords(o *model.Offering) bool { return b.limits.Allows(o) }

// better reports whether b leaves less unbought than o, or else costs less, or
// else needs fewer machines.
func (b *bought) better(o *bought) bool {
	return cmp.Or(cmp.Compare(b.unmet(), o.unmet()), cmp.Compare(b.cost, o.cost), cmp.Compare(len(b.machines), len(o.machines))) < 0
}

// unmet is how many items are left.
func (b *bought) unmet() int64 {
	n := int64(0)
	for _, left := range b.left {
		n += left
	}
	return n
}

// leavesNoMore reports whether b leaves no more items of any pod group than o.
func (b *bought) leavesNoMore(o *bought) bool {
	for i, n := range b.left {
		if n > o.left[i] {
			return false
		}
	}
	return true
}

// leavesLess reports whether b leaves fewer items over than o: of the highest priority in
// which they differ.
func (b *bought) leavesLess(o *bought) bool {
	more, priority := int64(0), int32(0)
	for _, i := range b.of.order {
		p := b.of.asked[i].Priority()
		if p != priority && more != 0 {
			break
		}
		priority = p
		more += b.left[i] - o.left[i]
	}
	return more < 0
}
