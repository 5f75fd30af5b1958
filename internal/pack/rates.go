package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// pricing tells what columns cost for the worth of their room, when a unit of each
// resource is priced as if parts of machines could be bought. What it has worked out
// is of use for the next demand, too.
type pricing struct {
	s       *solver
	columns []int
	cost    []float64 // by place in columns
	first   []int     // places of the first columns of each shape

	grain  []int64   // of the demand that the following is for
	names  []int     // resources that are needed
	scale  []float64 // by name, so that all figures are of the same order
	usable []float64 // by place in columns and name: what the demand can use of the room
	rows   []float64 // of the linear program, see tableau

	demand []float64 // scratch
	rates
}

// rates hold until the next demand is priced.
type rates struct {
	columns []int
	unit    []float64 // worth of a unit of each resource; nothing where nobody needs it
	rate    []float64 // by place in columns: cost for a unit of worth; infinite where nothing of worth fits
	order   []int     // places in columns, the lowest rate first, of equal ones the dearest
}

// newPricing prices for columns of which those of a seller are sorted by price.
func (s *solver) newPricing(columns []int, nodeCost int64) *pricing {
	p := &pricing{s: s, columns: columns, cost: make([]float64, len(columns))}
	p.rates = rates{columns: columns, unit: make([]float64, len(s.Space.Names)), rate: make([]float64, len(columns)), order: make([]int, len(columns))}
	seen := model.NewBitset(len(s.Shapes))
	for j, k := range columns {
		col := &s.Offerings[k]
		p.cost[j], p.order[j] = float64(col.Price+nodeCost), j
		if !seen.Has(col.Number) { // others have the same room for more
			seen.Add(col.Number)
			p.first = append(p.first, j)
		}
	}
	return p
}

// ratesOf prices a demand.
func (p *pricing) ratesOf(d *demand) rates {
	p.worthOf(d)
	usable := p.usable
	for j := range p.columns {
		w := 0.0
		for i, r := range p.names {
			w += float64(usable[i] * p.unit[r])
		}
		usable = usable[len(p.names):]
		if p.rate[j] = math.Inf(1); w > 0 {
			p.rate[j] = p.cost[j] / w
		}
	}
	slices.SortFunc(p.order, func(a, b int) int {
		if p.rate[a] != p.rate[b] {
			return cmp.Compare(p.rate[a], p.rate[b])
		}
		return cmp.Or(cmp.Compare(p.cost[b], p.cost[a]), a-b)
	})
	return p.rates
}

// worthOf returns the worth of a unit of each resource for a demand.
func (p *pricing) worthOf(d *demand) []float64 {
	if !slices.Equal(p.grain, d.grain) {
		p.prepare(d)
	}
	p.demand = p.demand[:0]
	for i, r := range p.names {
		share := 0.0
		if p.scale[i] > 0 {
			share = d.total[r] / p.scale[i]
		}
		p.demand = append(p.demand, share)
	}
	normalise(p.demand)
	clear(p.unit)
	p.s.tableau.load(len(p.names), p.rows)
	for i, v := range p.s.tableau.solve(p.demand) {
		if p.scale[i] > 0 {
			p.unit[p.names[i]] = v * 1e6 / p.scale[i]
		}
	}
	return p.unit
}

// prepare states the room of the columns for a demand of another grain.
func (p *pricing) prepare(d *demand) {
	p.grain = append(p.grain[:0], d.grain...)
	p.names, p.scale, p.usable, p.rows = p.names[:0], p.scale[:0], p.usable[:0], p.rows[:0]
	for r, grain := range p.grain {
		if grain > 0 {
			p.names, p.scale = append(p.names, r), append(p.scale, 0)
		}
	}
	for _, k := range p.columns {
		for i, r := range p.names {
			room := p.s.Offerings[k].Room[r]
			p.scale[i] = max(p.scale[i], float64(min(room, model.Plenty)))
			p.usable = append(p.usable, float64(d.usable(room, r)))
		}
	}
	width := len(p.names)
	for _, j := range p.first {
		for i, v := range p.usable[j*width : (j+1)*width] {
			if p.scale[i] > 0 {
				v /= p.scale[i]
			}
			p.rows = append(p.rows, v)
		}
		p.rows = append(p.rows, p.cost[j]/1e6)
	}
}

// least returns the lowest rate of the columns that a mask has, or false where none
// has room of worth.
func (r *rates) least(mask model.Bitset) (float64, bool) {
	at := slices.IndexFunc(r.order, func(j int) bool { return mask.Has(r.columns[j]) })
	if at < 0 || math.IsInf(r.rate[r.order[at]], 1) {
		return 0, false
	}
	return r.rate[r.order[at]], true
}
