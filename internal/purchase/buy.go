// Package purchase buys machines for groups of pods: step by step by the value of what a machine
// holds, by linear programs over patterns, and by local search from there. Pod groups and what
// limits leave in, machines out.
package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Purchaser buys machines for pods and puts them there.
type Purchaser struct {
	*assign.Assignment
	buying *buyer
}

// New returns a purchaser for the assignment.
func New(a *assign.Assignment, t *Trials) *Purchaser {
	return &Purchaser{Assignment: a, buying: newBuyer(a.Market, t)}
}

// UsePatternsUnderLimits makes it look for machines by the program over patterns also where
// limits leave items over, and buy them where that leaves fewer.
func (pu *Purchaser) UsePatternsUnderLimits() { pu.buying.patterns = true }

// buy makes purchases and carries them out: roughly at first where there are many pod groups.
func (pu *Purchaser) buy(groups []*assign.PodGroup, tier []*model.Pool) {
	groups = pooled(groups)
	if pools := rough(groups); pu.Uses(assign.Rough) && len(pools) < len(groups) {
		pu.buyRoughly(pools, groups, tier)
	}
	pu.buying.held = pu.hold(groups, tier)
	defer func() { pu.buying.held = nil }()
	for _, c := range pu.purchases(groups, tier) {
		pu.relocate(c)
		for _, m := range c.machines {
			if !pu.OnlyGuests(m) {
				pu.Buy(m)
			}
		}
	}
}

// purchases buys within what limits leave.
func (pu *Purchaser) purchases(groups []*assign.PodGroup, tier []*model.Pool) []*bought {
	pu.buying.headroom = make([]amount.List, len(pu.Pools))
	for _, p := range pu.Pools {
		pu.buying.headroom[p.Number] = pu.Headroom(p)
	}
	return pu.buying.purchases(groups, tier, pu.Remaining())
}

// purchases buys for each region, within what limits leave. Where nodes hold pods that may be
// elsewhere, regions are then bought for again, together with these.
func (by *buyer) purchases(groups []*assign.PodGroup, tier []*model.Pool, limits assign.RemainingLimits) []*bought {
	var out, open []*bought
	regions := assign.Regions(groups, tier, limits)
	for _, groups := range regions {
		b, final := best(newRequest(by, groups, tier, limits), len(regions))
		if final {
			out = append(out, b)
		} else {
			open = append(open, b)
		}
		limits = b.limits
		by.count(b)
	}
	if len(open) > 0 {
		out = append(out, bestWithNodes(together(open, limits)))
	}
	return out
}

// count takes what has been bought off the headroom.
func (by *buyer) count(b *bought) {
	for _, m := range b.machines {
		for name := range by.headroom[m.Pool.Number] {
			by.headroom[m.Pool.Number][name] -= by.Counted(m.Offering, name)
		}
	}
}

// overdrawn reports whether the machines, or those that were bought before, break a limit that does not bind in
// this pass. Then there will be another one, in which it does.
func (by *buyer) overdrawn(b *bought) bool {
	for _, p := range by.Pools {
		for name, left := range by.headroom[p.Number] {
			for _, m := range b.machines {
				if m.Pool == p && left >= 0 {
					left -= by.Counted(m.Offering, name)
				}
			}
			if left < 0 {
				return true
			}
		}
	}
	return false
}

// best returns a purchase in a market with so many regions, and whether more effort on it would
// be wasted. If not, nodes may still make it cheaper. It buys step by step at first. If that
// costs more than it has to, a second purchase begins with the best LP solution of machines.
func best(r *request, regions int) (b *bought, final bool) {
	if len(r.candidates) == 0 {
		return nothingBought(r), true
	}
	if b = buyEqual(r); b != nil {
		return b, len(r.held) == 0 || r.asked[0].Growing() > 0 || r.overdrawn(b) && !r.mayBeHeld(b)
	}
	guess, least := r.guess()
	b = nothingBought(r)
	b.buyGreedily(r.usualOrder())
	switch {
	case r.limited && b.unmet() > 0:
		return bestUnderLimits(b, guess), true
	case r.overdrawn(b):
		return b, !r.mayBeHeld(b) // the trials are for the next pass, whose limits leave most to be gained
	case float64(b.cost) > least*(1+closeEnough) && patternsPay(b, regions) && r.Uses(assign.Patterns):
		patterns := newProgram(b, guess.value)
		if b = patterns.improve(b); r.overdrawn(b) {
			return b, !r.mayBeHeld(b)
		}
		if r.Uses(assign.Turns) {
			b = patterns.inTurns(b, least, guess)
		}
	}
	if len(r.held) > 0 {
		return b, false
	}
	return search(b, least, guess), true
}

// mayBeHeld reports whether nodes have room enough, all together, for what is bought.
func (r *request) mayBeHeld(b *bought) bool {
	left := make([]int64, len(r.Space.Names))
	for _, h := range r.held {
		for k, n := range h.room {
			left[k] = amount.Add(left[k], max(0, n)) // what one lacks, such as a device that has failed, others need not have
		}
		for _, it := range h.items {
			model.AddTimes(left, it.Group.Need, -it.N)
		}
	}
	for _, m := range b.machines {
		for _, it := range m.Items {
			model.AddTimes(left, it.Group.Need, -it.N)
		}
	}
	return len(r.held) > 0 && slices.Min(left) >= 0
}

// bestWithNodes returns a purchase of what has been bought and what nodes hold, on which more
// effort would be wasted.
func bestWithNodes(b *bought) *bought {
	r := b.of
	guess, least := r.guess()
	if r.Uses(assign.Patterns) && len(r.asked)+len(r.nodes) <= mostSolved {
		own := r.making
		r.making += r.searches / 2
		r.searches -= r.searches / 2
		if other := newProgram(b, guess.value).improve(b); other.leavesNoMore(b) {
			b = other
		}
		rest := max(0, r.making-own)
		r.making, r.searches = r.making-rest, r.searches+rest
	}
	return search(b, least, guess)
}

// bestUnderLimits returns the purchase that leaves the fewest items over, important ones
// first, where limits may not allow all. b has bought the smallest first, which are most. The
// largest first pack best, few machines leave most of a limit on nodes, important pods need not
// come first where there is room for all, and the program over patterns knows what each machine
// uses up of each limit.
func bestUnderLimits(b *bought, guess duals) *bought {
	r := b.of
	largest := nothingBought(r)
	largest.buyGreedily(largestFirst)
	ways := []*bought{b, largest, fewMachines(r), inAnyPriority(r)}
	if r.patterns && patternsPay(b, 1) {
		patterns := newProgram(largest, guess.value).buy()
		patterns.buyGreedily(r.usualOrder())
		ways = append(ways, patterns)
	}
	b = nil
	for _, other := range ways {
		if other == nil {
			continue
		}
		if other.enlarge(); b == nil || other.leavesLess(b) {
			b = other
		}
	}
	value := 0.0
	for i, g := range r.asked {
		value += float64(guess.value[i] * float64(g.N-b.left[i]))
	}
	r.searches /= 2 // the rest is for other orders of the pods, which may serve more
	b = search(b, value, guess)
	b.enlarge() // the search may leave more of the limits
	return b
}

// inAnyPriority returns a purchase for the pods with the least choice first, which may leave room for all of them; nil
// where all pods have the same priority.
func inAnyPriority(r *request) *bought {
	if !slices.ContainsFunc(r.asked, func(g *assign.PodGroup) bool { return g.Priority() != r.asked[0].Priority() }) {
		return nil
	}
	out := nothingBought(r)
	out.buyGreedily(anyPriority)
	return out
}

// fewMachines returns a purchase of few large machines where the number of nodes is limited;
// nil where it is not.
func fewMachines(r *request) *bought {
	if !slices.ContainsFunc(r.pools, func(p *model.Pool) bool { return p.Limits[amount.Nodes] > 0 }) {
		return nil
	}
	more := int64(0)
	for _, k := range r.candidates {
		more = max(more, r.Offerings[k].Price)
	}
	out := nothingBought(r.withSurcharge(more))
	out.buyGreedily(largestFirst)
	return out.restated(r)
}

// BuyAll fills machines that are planned already and buys others for the pod groups, by the weights
// of Provisioners.
func (pu *Purchaser) BuyAll(groups []*assign.PodGroup) {
	pu.Effort.Others() // what is bought for all pods is work for none of them alone
	for _, g := range groups {
		pu.topUp(g)
	}
	if pu.Uses(assign.Guests) {
		pu.buySpecial(groups)
	}
	pu.buyByWeight(groups)
	left := pu.Remaining()
	for _, g := range groups {
		for _, p := range g.Parts {
			p.Class.Booked = 0
		}
		if g.N > 0 {
			pu.Uncount(g, g.N)
			limited := pu.limitedBy(left, g)
			for _, p := range g.Parts {
				p.Class.TookBack = true
				p.Class.Limited = p.Class.Limited || limited
			}
		}
	}
}

// buyByWeight buys from the Provisioners of the highest weight that sell something for a pod
// group, and what these leave over from those of lower weight.
func (pu *Purchaser) buyByWeight(groups []*assign.PodGroup) {
	tiers := pu.Tiers()
	if pu.Uses(assign.LowestFirst) && !slices.ContainsFunc(pu.Remaining(), func(left []int64) bool { return left != nil }) {
		pu.buyLowestFirst(groups, tiers)
		tiers = tiers[min(1, len(tiers)):]
	}
	for _, tier := range tiers {
		pu.buy(groups, tier)
	}
}

// buyLowestFirst begins with the Provisioners of the lowest weight: where no limit binds, what they
// sell is only for pods that can have nothing of a higher weight, and others use the room that
// these leave. They leave a part of the search to the others, by the number of pods.
func (pu *Purchaser) buyLowestFirst(groups []*assign.PodGroup, tiers [][]*model.Pool) {
	own := make([][]*assign.PodGroup, len(tiers))
	for _, g := range groups {
		if i := slices.IndexFunc(tiers, func(tier []*model.Pool) bool { return sell(tier, g) }); i >= 0 {
			own[i] = append(own[i], g)
		}
	}
	left := count(groups)
	for i, tier := range slices.Backward(tiers) {
		if i < len(tiers)-1 {
			for _, g := range own[i] {
				pu.topUp(g)
			}
		}
		n := count(own[i])
		kept := pu.buying.searches * (left - n) / max(1, left)
		pu.buying.searches -= kept
		pu.buy(own[i], tier)
		pu.buying.searches += kept
		left -= n
	}
}

// count returns how many items the pod groups have.
func count(groups []*assign.PodGroup) (n int) {
	for _, g := range groups {
		n += int(g.N)
	}
	return n
}

// limitedBy reports whether the pod group could be bought if what limits leave were more.
func (pu *Purchaser) limitedBy(left assign.RemainingLimits, g *assign.PodGroup) bool {
	for k := range g.Mask.All {
		if !left.Allows(&pu.Offerings[k]) {
			return true
		}
	}
	return false
}
