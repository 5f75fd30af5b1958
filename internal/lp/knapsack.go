package lp

import (
	"math"
)

// Knapsack is the question how much one machine can hold when items may be divided, of each
// of which there is any number:
//
//	maximise   Σ value[i]·x[i]
//	subject to Σ share[i][r]·x[i] ≤ 1  for each resource r,  x ≥ 0
//
// It is solved by the revised simplex method. Only the values change from one time
// to the next, so each solution begins with the last one.
type Knapsack struct {
	// Price of the whole room of each resource. Ceiling makes it prove the Bound.
	Price []float64
	// Bound is what no content is worth more than, by the last call of Ceiling.
	Bound float64

	rows    int
	items   []int     // places in the values
	share   []float64 // item by item: the share of the room of each resource
	basis   []int     // by row: a position in items, or surplus(r) for what is left of r
	x       []float64 // of what is in the basis
	inverse []float64 // row by row
	enters  []float64 // scratch
}

// NewKnapsack returns the question for items that need these shares of the room of so many
// resources, item by item. Items are named by their places in the values.
func NewKnapsack(rows int, items []int, share []float64) *Knapsack {
	t := &Knapsack{
		Price: make([]float64, rows), rows: rows, items: items, share: share, basis: make([]int, rows), x: make([]float64, rows),
		inverse: make([]float64, rows*rows), enters: make([]float64, rows),
	}
	for r := range rows {
		t.basis[r], t.x[r], t.inverse[r*rows+r] = surplus(r), 1, 1
	}
	return t
}

// Operations is about how many operations it takes to ask for the Ceiling once.
func (t *Knapsack) Operations() int { return len(t.share) }

// Rows is how many resources there are, and how many items a solution has at most.
func (t *Knapsack) Rows() int { return t.rows }

// Content returns one of at most Rows items that the solution has, and how much of it; false
// where that row's resource has room left instead.
func (t *Knapsack) Content(row int) (item int, n float64, ok bool) {
	b := t.basis[row]
	if b < 0 {
		return 0, 0, false
	}
	return t.items[b], t.x[row], true
}

// maxPivots is far above what a few resources take.
const maxPivots = 64

// Solve sets the prices of the resources, and returns how many operations it took.
func (t *Knapsack) Solve(value []float64) int {
	for pivots := 1; ; pivots++ {
		t.reprice(value)
		enter, ok := t.entering(value)
		if !ok || pivots == maxPivots || !t.pivot(enter) {
			return pivots * (len(t.share) + 3*t.rows*t.rows)
		}
	}
}

// reprice sets the prices that the basis implies.
func (t *Knapsack) reprice(value []float64) {
	clear(t.Price)
	for i, b := range t.basis {
		if b < 0 {
			continue
		}
		w := value[t.items[b]]
		for r := range t.Price {
			t.Price[r] += float64(w * t.inverse[i*t.rows+r])
		}
	}
}

// entering returns what the solution gains most from.
func (t *Knapsack) entering(value []float64) (int, bool) {
	best, most, found := 0, 1+Tolerance, false
	for j, i := range t.items {
		w := value[i]
		if w <= 0 {
			continue
		}
		if pays := t.Pays(j); w > most*pays {
			if pays <= 0 {
				return j, true
			}
			best, most, found = j, w/pays, true
		}
	}
	if found {
		return best, true
	}
	for r, p := range t.Price {
		if p < -Tolerance*math.Abs(t.Price[0]) {
			return surplus(r), true
		}
	}
	return 0, false
}

// Pays returns the price of what the item at a position in items needs.
func (t *Knapsack) Pays(j int) float64 {
	sum := 0.0
	for r, v := range t.share[j*t.rows : (j+1)*t.rows] {
		sum += float64(v * t.Price[r])
	}
	return sum
}

func (t *Knapsack) pivot(enter int) bool {
	for i := range t.enters {
		row := t.inverse[i*t.rows : (i+1)*t.rows]
		if enter < 0 {
			t.enters[i] = row[-1-enter]
			continue
		}
		sum := 0.0
		for r, v := range t.share[enter*t.rows : (enter+1)*t.rows] {
			sum += float64(row[r] * v)
		}
		t.enters[i] = sum
	}
	leave, least := -1, 0.0
	for i, d := range t.enters {
		if d > Smallest && (leave < 0 || t.x[i] < least*d) {
			leave, least = i, t.x[i]/d
		}
	}
	if leave < 0 {
		return false
	}
	t.basis[leave] = enter
	by := 1 / t.enters[leave]
	row := t.inverse[leave*t.rows : (leave+1)*t.rows]
	for r := range row {
		row[r] *= by
	}
	t.x[leave] *= by
	for i, d := range t.enters {
		if i == leave {
			continue
		}
		for r, v := range row {
			t.inverse[i*t.rows+r] -= float64(d * v)
		}
		t.x[i] = max(0, t.x[i]-float64(d*t.x[leave]))
	}
	return true
}

// Ceiling returns a proven bound on what a machine can hold, by the prices that
// are there: raised until they pay for every item, no content is worth more than
// the price of the whole room.
func (t *Knapsack) Ceiling(value []float64) float64 {
	total := 0.0
	for r, p := range t.Price {
		t.Price[r] = max(0, p)
		total += t.Price[r]
	}
	raise := 0.0
	for j, i := range t.items {
		w := value[i]
		if w <= 0 {
			continue
		}
		pays := t.Pays(j)
		if pays*raise >= w {
			continue
		}
		if pays <= 0 {
			t.Bound = math.Inf(1)
			return t.Bound
		}
		raise = w / pays
	}
	for r := range t.Price {
		t.Price[r] *= raise
	}
	t.Bound = total * raise
	return t.Bound
}
