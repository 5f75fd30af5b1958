package purchase

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// values are what items are worth and what offerings cost for that, by the prices of resources
// for what is left to be bought. They are set again for each machine in the same memory.
type values struct {
	unit      []float64 // of a unit of each resource
	item      []float64 // of an item of each pod group
	scale     []float64 // by pod group: what the cheapest way to have its needs costs for a unit of value
	perUnit   []float64 // by candidate: its cost for a unit of its room's value
	byPerUnit []int     // candidates, the best price per unit first
	most      []float64 // by candidate: the most that a full one can be worth for its cost
	least     []int64   // of each resource that all pod groups need, the least need
	window    window

	demand *price.Demand
}

func newValues(r *request) *values {
	width := len(r.Space.Names)
	return &values{
		demand: price.NewDemand(width), item: make([]float64, len(r.asked)), scale: make([]float64, len(r.asked)),
		most: make([]float64, len(r.candidates)), least: make([]int64, width),
	}
}

// set values the items of the pod groups of which so many are left. A unit of each resource
// has a price; what that costs depends on which offerings a pod group allows: pods that must
// be on demand cannot have it at the price of spot.
func (v *values) set(r *request, groups []int, left []int64) {
	v.demand.Reset()
	for _, i := range groups {
		v.demand.Add(r.asked[i].Need, left[i])
	}
	found := r.pricing.Price(v.demand)
	v.unit, v.perUnit, v.byPerUnit = found.Dual, found.PerUnit, found.Order
	clear(v.most)
	scales := make([]float64, len(r.masks))
	for g, mask := range r.masks {
		scales[g], _ = found.Least(mask)
		for j, k := range r.candidates {
			if mask.Has(k) {
				v.most[j] = max(v.most[j], scales[g]/v.perUnit[j])
			}
		}
	}
	for i := range v.least {
		v.least[i] = math.MaxInt64
	}
	for _, i := range groups {
		v.scale[i] = scales[r.maskOf[i]]
		need := r.asked[i].Need
		v.item[i] = float64(v.scale[i] * price.Value(need, v.unit))
		for k, n := range need {
			v.least[k] = min(v.least[k], n)
		}
	}
	v.window.set(v, groups)
}

// of is what the content of a machine is worth.
func (v *values) of(m *assign.Machine) float64 {
	sum := 0.0
	for _, it := range m.Items {
		sum += float64(float64(it.N) * v.item[it.Group.Index])
	}
	return sum
}

// score is what the content of a machine is worth for what it costs.
func (v *values) score(r *request, m *assign.Machine) float64 {
	return v.of(m) / float64(max(1, r.weighedCost(m)))
}

// exchangeWindow bounds how many pod groups are looked at for exchanges.
const exchangeWindow = 256

// window lists pod groups for exchanges: all where there are few, else some of every size.
type window struct {
	offered []offered // the most valuable first
	scale   float64   // the largest of any of these
}

// offered is a pod group for exchanges.
type offered struct {
	group int
	value float64 // of an item
}

func (w *window) set(v *values, groups []int) {
	w.offered, w.scale = w.offered[:0], 0
	n := min(len(groups), exchangeWindow)
	for k := range n {
		i := groups[k*len(groups)/n]
		w.offered = append(w.offered, offered{i, v.item[i]})
		w.scale = max(w.scale, v.scale[i])
	}
	slices.SortStableFunc(w.offered, func(a, b offered) int { return cmp.Compare(b.value, a.value) })
}
