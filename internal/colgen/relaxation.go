package colgen

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// relaxation is the question how much one machine can hold when loads may be
// divided:
//
//	maximise   Σ worth[i]·x[i]
//	subject to Σ need[i][r]/room[r]·x[i] ≤ 1  for each resource r,  x ≥ 0
//
// It is solved by the revised simplex method. Only the worths change from one time
// to the next, so each solution begins with the last one.
type relaxation struct {
	rows    int
	loads   []int     // that the kind may hold
	need    []float64 // load by load: the share of the room of each resource
	basis   []int     // by row: a position in loads, or -1-r for what is left of r
	x       []float64 // of what is in the basis
	inverse []float64 // row by row
	price   []float64 // of the whole room of each resource
	enters  []float64 // scratch
	bound   float64   // on what a machine can hold, by the last call of ceiling
}

func newRelaxation(loads []Load, k *Kind) *relaxation {
	t := &relaxation{}
	t.reset(loads, k)
	return t
}

// reset states the question for another machine.
func (t *relaxation) reset(loads []Load, k *Kind) {
	used := t.basis[:0]
	for r := range k.Room {
		if slices.ContainsFunc(k.Loads, func(i int) bool { return loads[i].Need[r] > 0 }) {
			used = append(used, r)
		}
	}
	n := len(used)
	t.rows, t.loads, t.bound = n, k.Loads, 0
	t.need = slices.Grow(t.need[:0], n*len(k.Loads))
	for _, i := range k.Loads {
		for _, r := range used {
			t.need = append(t.need, float64(loads[i].Need[r])/float64(max(1, k.Room[r])))
		}
	}
	t.basis, t.x, t.price, t.enters = used, cleared(t.x, n), cleared(t.price, n), cleared(t.enters, n)
	t.inverse = cleared(t.inverse, n*n)
	for r := range n {
		t.basis[r], t.x[r], t.inverse[r*n+r] = -1-r, 1, 1
	}
}

func cleared[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// maxPivots is far above what a few resources take.
const maxPivots = 64

// solve sets the prices of the resources, and returns how many operations it took.
func (t *relaxation) solve(worth []float64) int {
	for pivots := 1; ; pivots++ {
		t.reprice(worth)
		enter, ok := t.entering(worth)
		if !ok || pivots == maxPivots || !t.pivot(enter) {
			return pivots * (len(t.need) + 3*t.rows*t.rows)
		}
	}
}

// reprice sets the prices that the basis implies.
func (t *relaxation) reprice(worth []float64) {
	clear(t.price)
	for i, b := range t.basis {
		if b < 0 {
			continue
		}
		w := worth[t.loads[b]]
		for r := range t.price {
			t.price[r] += float64(w * t.inverse[i*t.rows+r])
		}
	}
}

// entering returns what the solution gains most from.
func (t *relaxation) entering(worth []float64) (int, bool) {
	best, most, found := 0, 1+tolerance, false
	for j, i := range t.loads {
		w := worth[i]
		if w <= 0 {
			continue
		}
		if pays := t.pays(j); w > most*pays {
			if pays <= 0 {
				return j, true
			}
			best, most, found = j, w/pays, true
		}
	}
	if found {
		return best, true
	}
	for r, p := range t.price {
		if p < -tolerance*math.Abs(t.price[0]) {
			return -1 - r, true
		}
	}
	return 0, false
}

// pays returns the price of what a load needs.
func (t *relaxation) pays(j int) float64 {
	sum := 0.0
	for r, v := range t.need[j*t.rows : (j+1)*t.rows] {
		sum += float64(v * t.price[r])
	}
	return sum
}

func (t *relaxation) pivot(enter int) bool {
	for i := range t.enters {
		row := t.inverse[i*t.rows : (i+1)*t.rows]
		if enter < 0 {
			t.enters[i] = row[-1-enter]
			continue
		}
		sum := 0.0
		for r, v := range t.need[enter*t.rows : (enter+1)*t.rows] {
			sum += float64(row[r] * v)
		}
		t.enters[i] = sum
	}
	leave, least := -1, 0.0
	for i, d := range t.enters {
		if d > lp.Smallest && (leave < 0 || t.x[i] < least*d) {
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

// ceiling returns a proven bound on what a machine can hold, by the prices that
// are there: raised until they pay for every load, no content is worth more than
// the price of the whole room.
func (t *relaxation) ceiling(worth []float64) float64 {
	total := 0.0
	for r, p := range t.price {
		t.price[r] = max(0, p)
		total += t.price[r]
	}
	raise := 0.0
	for j, i := range t.loads {
		w := worth[i]
		if w <= 0 {
			continue
		}
		pays := t.pays(j)
		if pays*raise >= w {
			continue
		}
		if pays <= 0 {
			t.bound = math.Inf(1)
			return t.bound
		}
		raise = w / pays
	}
	for r := range t.price {
		t.price[r] *= raise
	}
	t.bound = total * raise
	return t.bound
}
