package colgen

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/knapsack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// filler finds the content of one machine of a kind that is worth most.
type filler struct {
	cost   float64 // what it uses up of limits included
	items  []int   // that it may hold and that are left
	values []float64
	*knapsack.Knapsack
}

// newFiller returns the filler of a kind.
func newFiller(items []Item, kind *MachineKind) *filler {
	f := &filler{}
	var held []knapsack.Item
	for _, i := range kind.Items {
		if it := &items[i]; it.Count > 0 {
			f.items, held = append(f.items, i), append(held, knapsack.Item{Need: it.Need, Most: min(it.Most, it.Count)})
		}
	}
	f.Knapsack, f.values = knapsack.New(kind.Room, held), make([]float64, len(held))
	return f
}

// ceiling returns what no content of a machine is worth more than, items that may be divided
// included, and the operations that it took to find out. It is as low as it can be, or below
// what the machine costs.
func (f *filler) ceiling(prices []float64) (float64, int) {
	for j, i := range f.items {
		f.values[j] = prices[i]
	}
	return f.Ceiling(f.values, f.cost*(1+lp.Tolerance))
}

// parts states a content.
func (f *filler) parts(content []int64) []Part {
	var out []Part
	for j, n := range content {
		if n > 0 {
			out = append(out, Part{f.items[j], n})
		}
	}
	return out
}
