package pack

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
	width := len(demand)
	t := tableau{rows: make([][]float64, len(room)), basis: make([]int, len(room)), cost: make([]float64, width+1), column: make([]int, width)}
	for r := range demand {
		t.cost[r] = demand[r]
		t.column[r] = r
	}
	for i := range room {
		row := make([]float64, width+1)
		copy(row, room[i])
		row[width] = price[i]
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
	y := make([]float64, width)
	for i, b := range t.basis {
		if b < width {
			y[b] = max(0, t.rows[i][width])
		}
	}
	return y
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
