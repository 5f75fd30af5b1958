package colgen

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// relaxation is the question how much one machine can hold when items may be divided.
type relaxation struct {
	*lp.Knapsack
	used  []int     // resources that some item needs
	share []float64 // item by item: the share of the room of each of these
}

func newRelaxation(items []Item, k *Kind) *relaxation {
	t := &relaxation{}
	for r := range k.Room {
		if slices.ContainsFunc(k.Items, func(i int) bool { return items[i].Need[r] > 0 }) {
			t.used = append(t.used, r)
		}
	}
	for _, i := range k.Items {
		for _, r := range t.used {
			t.share = append(t.share, float64(items[i].Need[r])/float64(max(1, k.Room[r])))
		}
	}
	t.Knapsack = lp.NewKnapsack(len(t.used), k.Items, t.share)
	return t
}
