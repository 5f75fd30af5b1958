package lp

import (
	"math"
	"slices"
)

// Packing is the question how much one machine can hold when items may be divided:
//
//	maximise   Σ value[j]·x[j]
//	subject to Σ share[j][r]·x[j] ≤ 1  for each resource r,  0 ≤ x[j] ≤ most[j]
//
// It is solved by the revised simplex method with bounded variables. Only the values
// change from one time to the next, so each solution begins with the last one.
type Packing struct {
	// Price of the whole room of each resource, at least 0. By these prices Value is
	// proven: no content is worth more.
	Price []float64
	Value float64

	rows    int
	share   []float64 // item by item
	most    []float64
	basis   []int // by row: an item, or surplus(r) for what is left of r
	x       []float64
	inverse []float64
	full    []bool // items that are not in the basis and at their most
	basic   []bool
	enters  []float64 // scratch
}

// NewPacking returns the question for items that need these shares of the room, item
// by item, and of which there may be so many.
func NewPacking(rows int, share, most []float64) *Packing {
	p := &Packing{
		Price: make([]float64, rows), rows: rows, share: share, most: most, basis: make([]int, rows), x: make([]float64, rows),
		inverse: make([]float64, rows*rows), full: make([]bool, len(most)), basic: make([]bool, len(most)), enters: make([]float64, rows),
	}
	for r := range rows {
		p.basis[r], p.x[r], p.inverse[r*rows+r] = surplus(r), 1, 1
	}
	return p
}

// Stale sets the Value that the prices of the last solution prove for other values, which
// takes less than to solve it again. It returns how many operations it took.
func (p *Packing) Stale(value []float64) int {
	p.prove(value)
	return len(p.share)
}

// Solve sets Price and Value for these values, and returns how many operations it took.
func (p *Packing) Solve(value []float64) int {
	largest := 0.0
	for j, w := range value {
		largest = max(largest, float64(w*p.most[j]))
	}
	pivots, most := 1, 2*(len(value)+p.rows)+mostRounds
	for ; pivots < most; pivots++ {
		p.reprice(value)
		enters, up, ok := p.entering(value, largest*Tolerance*Tolerance)
		if !ok || !p.pivot(enters, up) {
			break
		}
	}
	p.prove(value)
	return (pivots + 1) * (len(p.share) + 3*p.rows*p.rows)
}

// Content returns how much of an item is on the machine.
func (p *Packing) Content(j int) float64 {
	switch {
	case p.full[j]:
		return p.most[j]
	case !p.basic[j]:
		return 0
	}
	return max(0, p.x[slices.Index(p.basis, j)])
}

// Pays returns the price of what an item needs.
func (p *Packing) Pays(j int) float64 {
	sum := 0.0
	for r, v := range p.share[j*p.rows : (j+1)*p.rows] {
		sum += float64(v * p.Price[r])
	}
	return sum
}

// prove sets the Value that the prices prove: what an item is worth beyond the price of
// its needs, as often as it may be there, comes on top of the price of the room.
func (p *Packing) prove(value []float64) {
	p.Value = 0
	for r, price := range p.Price {
		p.Price[r] = max(0, price)
		p.Value += p.Price[r]
	}
	for j, w := range value {
		if gain := w - p.Pays(j); gain > 0 {
			p.Value += float64(gain * p.most[j])
		}
	}
}

// reprice sets the prices that the basis implies.
func (p *Packing) reprice(value []float64) {
	clear(p.Price)
	for i, b := range p.basis {
		if b < 0 {
			continue
		}
		w := value[b]
		for r, v := range p.inverse[i*p.rows : (i+1)*p.rows] {
			p.Price[r] += float64(w * v)
		}
	}
}

// entering returns the item, or the rest of a resource, that the solution gains most
// from, and whether there is to be more of it or less.
func (p *Packing) entering(value []float64, least float64) (at int, up, ok bool) {
	for j, w := range value {
		if p.basic[j] {
			continue
		}
		gain := float64((w - p.Pays(j)) * p.most[j])
		if p.full[j] {
			gain = -gain
		}
		if gain > least {
			at, up, ok, least = j, !p.full[j], true, gain
		}
	}
	for r, price := range p.Price {
		if -price > least {
			at, up, ok, least = surplus(r), true, true, -price
		}
	}
	return at, up, ok
}

// pivot changes the entering variable until it or another one reaches a bound. It
// reports false where rounding leaves no way.
func (p *Packing) pivot(enters int, up bool) bool {
	p.direction(enters)
	sign, step, leave, toMost := 1.0, math.Inf(1), -1, false
	if !up {
		sign = -1
	}
	if enters >= 0 {
		step = p.most[enters]
	}
	for i, d := range p.enters {
		switch d *= sign; {
		case d > Smallest:
			if t := max(0, p.x[i]/d); t < step {
				step, leave, toMost = t, i, false
			}
		case d < -Smallest && p.basis[i] >= 0:
			if t := max(0, (p.most[p.basis[i]]-p.x[i])/-d); t < step {
				step, leave, toMost = t, i, true
			}
		}
	}
	if math.IsInf(step, 1) {
		return false
	}
	for i, d := range p.enters {
		p.x[i] -= float64(sign * float64(step*d))
	}
	if leave < 0 { // it goes to its other bound
		p.full[enters] = up
		return true
	}
	p.exchange(leave, enters, toMost)
	switch {
	case up:
		p.x[leave] = step
	default:
		p.x[leave] = p.most[enters] - step
	}
	return true
}

// direction writes the entering variable by the basis.
func (p *Packing) direction(enters int) {
	for i := range p.enters {
		row := p.inverse[i*p.rows : (i+1)*p.rows]
		if enters < 0 {
			p.enters[i] = row[-1-enters]
			continue
		}
		sum := 0.0
		for r, v := range p.share[enters*p.rows : (enters+1)*p.rows] {
			sum += float64(row[r] * v)
		}
		p.enters[i] = sum
	}
}

// exchange puts the entering variable into the basis for what leaves it.
func (p *Packing) exchange(leave, enters int, toMost bool) {
	if was := p.basis[leave]; was >= 0 {
		p.basic[was], p.full[was] = false, toMost
	}
	if enters >= 0 {
		p.basic[enters], p.full[enters] = true, false
	}
	p.basis[leave] = enters
	by := 1 / p.enters[leave]
	row := p.inverse[leave*p.rows : (leave+1)*p.rows]
	for r := range row {
		row[r] *= by
	}
	for i, d := range p.enters {
		if i == leave || d == 0 {
			continue
		}
		other := p.inverse[i*p.rows : (i+1)*p.rows]
		for r, v := range row {
			other[r] -= float64(d * v)
		}
	}
}
