package pack

import (
	"cmp"
	"math"
	"slices"
)

// rates says what columns cost for the worth of their room, when a unit of each
// resource is priced as if parts of machines could be bought.
type rates struct {
	columns []int
	unit    []float64 // worth of a unit of each resource
	rate    []float64 // by place in columns: cost for a unit of worth; infinite where nothing of worth fits
	order   []int     // places in columns, the lowest rate first, of equal ones the dearest
}

func (s *solver) ratesOf(d *demand, columns []int, nodeCost int64) rates {
	r := rates{columns: columns, unit: s.worthOf(d, columns, nodeCost), rate: make([]float64, len(columns)), order: make([]int, len(columns))}
	for j, k := range columns {
		col := &s.columns[k]
		r.order[j], r.rate[j] = j, math.Inf(1)
		if w := d.worthOfRoom(col.room, r.unit); w > 0 {
			r.rate[j] = float64(col.price+nodeCost) / w
		}
	}
	slices.SortFunc(r.order, func(a, b int) int {
		if r.rate[a] != r.rate[b] {
			return cmp.Compare(r.rate[a], r.rate[b])
		}
		return cmp.Or(cmp.Compare(s.columns[columns[b]].price, s.columns[columns[a]].price), a-b)
	})
	return r
}

// least returns the lowest rate of the columns that a mask has, or false where none
// has room of worth.
func (r *rates) least(mask bitset) (float64, bool) {
	at := slices.IndexFunc(r.order, func(j int) bool { return mask.has(r.columns[j]) })
	if at < 0 || math.IsInf(r.rate[r.order[at]], 1) {
		return 0, false
	}
	return r.rate[r.order[at]], true
}
