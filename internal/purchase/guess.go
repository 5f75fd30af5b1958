package purchase

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// duals are what an item of each pod group is worth, and a unit of each resource to it.
type duals struct {
	value []float64
	unit  [][]float64
}

// guess prices the resources by the relaxation that lets parts of machines be
// bought, for each offering so that its whole room is worth what it costs. It also
// returns what all items are worth by their needs then: nothing that holds them costs
// less.
func (r *request) guess() (out duals, total float64) {
	d := price.NewDemand(len(r.Space.Names))
	for _, g := range r.asked {
		d.Add(g.Need, g.N)
	}
	found := r.pricing.Price(d)
	out = duals{value: make([]float64, len(r.asked)), unit: make([][]float64, len(r.asked))}
	for i, g := range r.asked {
		out.unit[i] = make([]float64, len(found.Dual))
		if least, ok := found.Least(g.Mask); ok {
			for k, v := range found.Dual {
				out.unit[i][k] = float64(least * v)
			}
			out.value[i] = price.Value(g.Need, out.unit[i])
			total += float64(out.value[i] * float64(g.N))
		}
	}
	return out, total
}
