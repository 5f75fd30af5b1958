package pack

import "math"

// duals solves the resource relaxation of buying machines for a demand:
//
//	maximise   Σ demand[r]·y[r]
//	subject to Σ room[t][r]·y[r] ≤ price[t]  for each t,  y ≥ 0
//
// and returns y, the worth of one unit of each resource. It is the linear
// program dual to buying fractions of machines, solved by the primal simplex
// method on a dense tableau with Bland's rule; with y = 0 feasible no first
// phase is needed. Products are rounded one by one, so that the result does not
// depend on whether the processor fuses them.
func duals(demand []float64, room [][]float64, price []float64) []float64 {
	t := solve(demand, room, price)
	y := make([]float64, len(demand))
	for i, b := range t.basis {
		if b < len(y) {
			y[b] = max(0, t.rows[i][len(y)])
		}
	}
	return y
}

// ceiling returns a proven upper bound on what one machine can hold of loads of
// the given worth, fractions of loads included:
//
//	maximise   Σ worth[c]·x[c]
//	subject to Σ need[r][c]·x[c] ≤ room[r]  for each r,  x ≥ 0
//
// Whatever the simplex method leaves unfinished or rounds, the bound holds: the
// prices π of the resources that it ends with are raised until they pay for every
// load, and then no machine's content is worth more than Σ room[r]·π[r].
func ceiling(worth []float64, need [][]float64, room []float64) float64 {
	t := solve(worth, need, room)
	prices := make([]float64, len(room))
	for j, v := range t.column {
		if v >= len(worth) {
			prices[v-len(worth)] = max(0, -t.cost[j])
		}
	}
	raise := 1.0
	for c, w := range worth {
		pays := 0.0
		for r, p := range prices {
			pays += float64(need[r][c] * p)
		}
		if pays < w {
			if pays <= 0 {
				return math.Inf(1)
			}
			raise = max(raise, w/pays)
		}
	}
	total := 0.0
	for r, p := range prices {
		total += float64(room[r] * p)
	}
	return total * raise
}

// solve maximises target·y subject to rows·y ≤ limit and y ≥ 0.
func solve(target []float64, rows [][]float64, limit []float64) *tableau {
	width := len(target)
	t := &tableau{rows: make([][]float64, len(rows)), basis: make([]int, len(rows)), cost: make([]float64, width+1), column: make([]int, width)}
	for j := range target {
		t.cost[j] = target[j]
		t.column[j] = j
	}
	for i := range rows {
		row := make([]float64, width+1)
		copy(row, rows[i])
		row[width] = limit[i]
		t.rows[i] = row
		t.basis[i] = width + i
	}
	for range maxPivots {
		enter := t.entering()
		if enter < 0 {
			break
		}
		leave := t.leaving(enter)
		if leave < 0 {
			break // unbounded: a resource that no machine has; its worth does not matter
		}
		t.pivot(leave, enter)
	}
	return t
}

// maxPivots is far above what a program with a handful of resources takes.
const maxPivots = 500

const epsilon = 1e-12

// tableau is a simplex tableau in condensed form: column[j] is the variable that
// stands at column j, basis[i] the one that row i is solved for. Variables from
// the width on are slacks.
type tableau struct {
	rows   [][]float64
	cost   []float64
	basis  []int
	column []int
}

func (t *tableau) entering() int {
	best := -1
	for j, v := range t.column {
		if t.cost[j] > epsilon && (best < 0 || v < t.column[best]) {
			best = j
		}
	}
	return best
}

func (t *tableau) leaving(enter int) int {
	last := len(t.cost) - 1
	best, ratio := -1, 0.0
	for i, row := range t.rows {
		if row[enter] <= epsilon {
			continue
		}
		if q := row[last] / row[enter]; best < 0 || q < ratio || q == ratio && t.basis[i] < t.basis[best] {
			best, ratio = i, q
		}
	}
	return best
}

func (t *tableau) pivot(leave, enter int) {
	row := t.rows[leave]
	p := row[enter]
	row[enter] = 1
	for j := range row {
		row[j] /= p
	}
	for i, other := range t.rows {
		if i != leave {
			eliminate(other, row, enter)
		}
	}
	eliminate(t.cost, row, enter)
	t.basis[leave], t.column[enter] = t.column[enter], t.basis[leave]
}

func eliminate(row, by []float64, enter int) {
	f := row[enter]
	if f == 0 {
		return
	}
	row[enter] = 0
	for j := range row {
		row[j] -= float64(f * by[j])
	}
}
