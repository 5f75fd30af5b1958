package colgen

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// relaxation is the question how much one machine can hold when loads may be divided.
type relaxation struct {
	lp.Knapsack
	used  []int     // resources that some load needs
	share []float64 // load by load: the share of the room of each of these
}

func newRelaxation(loads []Load, k *Kind) *relaxation {
	t := &relaxation{}
	t.reset(loads, k)
	return t
}

// reset states the question for another machine.
func (t *relaxation) reset(loads []Load, k *Kind) {
	t.used = t.used[:0]
	for r := range k.Room {
		if slices.ContainsFunc(k.Loads, func(i int) bool { return loads[i].Need[r] > 0 }) {
			t.used = append(t.used, r)
		}
	}
	t.share = slices.Grow(t.share[:0], len(t.used)*len(k.Loads))
	for _, i := range k.Loads {
		for _, r := range t.used {
			t.share = append(t.share, float64(loads[i].Need[r])/float64(max(1, k.Room[r])))
		}
	}
	t.Reset(len(t.used), k.Loads, t.share)
}
