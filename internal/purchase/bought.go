package purchase

import (
	"cmp"
	"slices"

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
func (b *bought) affords(o *model.Offering) bool { return b.limits.Affords(o, 1) > 0 }

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

// enlarge moves machines to larger offerings that also hold items which limits leave without
// a machine. What is bought for the least price may leave room within a limit that no further
// machine fits into, for example memory on machines that have no more cores.
func (b *bought) enlarge() {
	for _, i := range b.of.order {
		var fixed *assign.Machine // the last that cannot be larger: others share its content
		for at := 0; at < len(b.machines) && b.left[i] > 0; at++ {
			if b.machines[at] == fixed {
				continue
			}
			for b.left[i] > 0 && b.enlargeOne(at, b.of.asked[i]) {
			}
			fixed = b.machines[at]
		}
	}
}

// enlargeOne moves a machine to the cheapest offering that also holds items of the pod group,
// puts as many of them there as that takes, and reports whether there is one.
func (b *bought) enlargeOne(at int, g *assign.PodGroup) bool {
	r, m := b.of, b.machines[at]
	before := m.Offering
	b.limits.Spend(&r.Offerings[before], -1)
	k, n, residual := b.largerFor(m, g)
	b.limits.Spend(&r.Offerings[k], 1)
	if n == 0 {
		return false
	}
	m = m.Clone()
	m.Offering = k
	m.Add(g, n, residual)
	b.left[g.Index] -= n
	b.cost += r.Offerings[m.Offering].Cost - r.Offerings[before].Cost
	b.machines[at] = m
	return true
}

// largerFor returns the cheapest offering that has room for the content of a machine, which is
// not counted towards limits, and for items of the pod group, and how many it takes; 0 of them
// on the machine's own offering where there is none.
func (b *bought) largerFor(m *assign.Machine, g *assign.PodGroup) (offering int, n int64, residual int) {
	r, before := b.of, m.Offering
	if !m.Mask.Meets(g.Mask) || len(g.Parts) == 1 && !r.Followed(m, g.Parts[0].Class) {
		return before, 0, 0
	}
	larger, need := *m, slices.Clone(m.Used)
	model.AddTimes(need, g.Need, 1)
	r.Roomy = append(r.Roomy[:0], m.Mask...)
	r.Roomy.Keep(g.Mask)
	r.KeepRoomy(r.Roomy, need)
	for k := range r.Roomy.Within(m.Pool.Offerings) { // sorted by price
		o := &r.Offerings[k]
		if !b.affords(o) || !r.LeavesChoice(m.Residual, o) || !r.SameDaemons(k, before) {
			continue
		}
		larger.Offering = k
		if n, residual = r.Admit(&larger, g, b.left[g.Index]); n > 0 {
			return k, n, residual
		}
	}
	return before, 0, 0
}
