// Package price says what resources are worth for pods that machines are bought for: the dual
// prices of a linear program in which machines can be bought in parts. Demands and offerings in,
// prices out.
package price

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Pricing tells what offerings cost for the value of their room, when a unit of each
// resource is priced as if parts of machines could be bought. What it has worked out
// is of use for the next demand, too.
type Pricing struct {
	supply    *model.Supply
	offerings []int
	cost      []float64 // by place in offerings
	first     []int     // places of the first offerings of each shape

	grain  []int64   // of the demand that the following is for
	names  []int     // resources that are needed
	scale  []float64 // by name, so that all figures are of the same order
	usable []float64 // by place in offerings and name: what the demand can use of the room
	rows   []float64 // of the linear program, see lp.Tableau

	demand  []float64 // scratch
	simplex lp.Tableau
	Prices
}

// Prices hold until the next demand is priced.
type Prices struct {
	offerings []int
	Dual      []float64 // the dual price of a unit of each resource; 0 where nobody needs it
	PerUnit   []float64 // by place in offerings: cost for a unit of value; infinite where nothing of value fits
	Order     []int     // places in offerings, the lowest price per unit first, of equal ones the most expensive
}

// New prices offerings, of which those of a pool are sorted by price.
func New(s *model.Supply, offerings []int) *Pricing {
	p := &Pricing{supply: s, offerings: offerings, cost: make([]float64, len(offerings))}
	p.Prices = Prices{offerings: offerings, Dual: make([]float64, len(s.Space.Names)), PerUnit: make([]float64, len(offerings)), Order: make([]int, len(offerings))}
	seen := model.NewBitset(len(s.Shapes))
	for j, k := range offerings {
		o := &s.Offerings[k]
		p.cost[j], p.Order[j] = float64(o.Cost), j
		if !seen.Has(o.Number) { // others have the same room for more
			seen.Add(o.Number)
			p.first = append(p.first, j)
		}
	}
	return p
}

// Surcharge makes each offering cost so much more. No demand may have been priced yet.
func (p *Pricing) Surcharge(more int64) {
	for j := range p.cost {
		p.cost[j] += float64(more)
	}
}

// Price prices a demand.
func (p *Pricing) Price(d *Demand) Prices {
	p.setDuals(d)
	usable := p.usable
	for j := range p.offerings {
		w := 0.0
		for i, r := range p.names {
			w += float64(usable[i] * p.Dual[r])
		}
		usable = usable[len(p.names):]
		if p.PerUnit[j] = math.Inf(1); w > 0 {
			p.PerUnit[j] = p.cost[j] / w
		}
	}
	slices.SortFunc(p.Order, func(a, b int) int {
		if p.PerUnit[a] != p.PerUnit[b] {
			return cmp.Compare(p.PerUnit[a], p.PerUnit[b])
		}
		return cmp.Or(cmp.Compare(p.cost[b], p.cost[a]), a-b)
	})
	return p.Prices
}

// setDuals finds the dual price of a unit of each resource for a demand.
func (p *Pricing) setDuals(d *Demand) {
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
	clear(p.Dual)
	p.simplex.Load(len(p.names), p.rows)
	for i, v := range p.simplex.Solve(p.demand) {
		if p.scale[i] > 0 {
			p.Dual[p.names[i]] = v * 1e6 / p.scale[i]
		}
	}
}

// prepare states the room of the offerings for a demand of another grain.
func (p *Pricing) prepare(d *Demand) {
	p.grain = append(p.grain[:0], d.grain...)
	p.names, p.scale, p.usable, p.rows = p.names[:0], p.scale[:0], p.usable[:0], p.rows[:0]
	for r, grain := range p.grain {
		if grain > 0 {
			p.names, p.scale = append(p.names, r), append(p.scale, 0)
		}
	}
	for _, k := range p.offerings {
		for i, r := range p.names {
			room := p.supply.Offerings[k].Room[r]
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

// Least returns the lowest price per unit of the offerings that a mask has, or false where
// none has room of value.
func (r *Prices) Least(mask model.Bitset) (float64, bool) {
	at := slices.IndexFunc(r.Order, func(j int) bool { return mask.Has(r.offerings[j]) })
	if at < 0 || math.IsInf(r.PerUnit[r.Order[at]], 1) {
		return 0, false
	}
	return r.PerUnit[r.Order[at]], true
}
