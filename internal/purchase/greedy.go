package purchase

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
)

// How many offerings a machine is filled for, to compare: at least leastCandidates,
// and more where there are few pod groups, so that the effort stays about the same.
const (
	leastCandidates = 3
	fillsPerStep    = 1024
)

// buyGreedily buys for what is left until nothing is or nothing more can be bought. It repeats:
// price the resources for what is left (duals), take the first pod group, fill one machine of
// each of the offerings that are worth most for the money, keep the one that gets the most value
// per price, and buy it as often as the counts and limits allow. With the smallest pods first,
// machines are filled in that order, so that most pods have a place where limits bind. Otherwise
// the largest are first, and machines are filled so that the rest of them is best proportioned.
func (b *bought) buyGreedily(by ordering) {
	r := b.of
	v := newValues(r)
	f := newFiller(r, by != smallestFirst, v)
	f.queue, f.left, f.limits = r.inOrder(by), b.left, b.limits
	for {
		f.queue = slices.DeleteFunc(f.queue, func(i int) bool { return b.left[i] == 0 })
		if len(f.queue) == 0 {
			return
		}
		v.set(r, f.queue, b.left)
		best := f.bestFor(f.queue[0], b)
		if best == nil {
			f.queue = f.queue[1:] // no offering can be had for this pod group any more
			continue
		}
		b.buy(best, math.MaxInt64)
	}
}

// bestFor fills a machine of each promising offering, starting with an item of the
// given pod group, and returns the one that gets the most value for its price.
func (f *filler) bestFor(seed int, b *bought) *assign.Machine {
	var best *assign.Machine
	bestScore := 0.0
	for _, j := range f.promising(seed, b) {
		if best != nil && bestScore >= f.values.most[j] {
			continue // even a full machine of this offering gets less for its price
		}
		m := f.fill(f.candidates[j], seed)
		if m == nil {
			continue
		}
		f.Shrink(m, b.affords)
		if score := f.values.score(f.request, m); best == nil || score > bestScore*(1+1e-9) {
			best, bestScore, m = m, score, best
		}
		f.spare = m
	}
	return best
}

// promising lists the candidates that hold the pod group and that limits allow, the best
// prices per unit first, of equal ones the largest first.
func (f *filler) promising(seed int, b *bought) []int {
	mask := f.asked[seed].Mask
	able := make([]int, 0, len(f.candidates))
	for _, j := range f.values.byPerUnit {
		if k := f.candidates[j]; mask.Has(k) && b.affords(&f.Offerings[k]) {
			able = append(able, j)
		}
	}
	most := leastCandidates + fillsPerStep/len(f.queue)
	return able[:min(len(able), most)]
}
