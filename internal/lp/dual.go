package lp

// Tableau solves the resource relaxation of buying machines for a demand:
//
//	maximise   Σ demand[r]·y[r]
//	subject to Σ room[t][r]·y[r] ≤ price[t]  for each t,  y ≥ 0
//
// where y is the dual price of one unit of each resource. It is the linear program
// dual to buying fractions of machines, solved by the primal simplex method on a
// dense condensed tableau with Bland's rule; with y = 0 feasible no first phase is
// needed. Products are rounded one by one, so that the result does not depend on
// whether the processor fuses them. A tableau may be used again.
type Tableau struct {
	width  int
	rows   []float64 // of width+1 each; the last is the limit
	cost   []float64
	basis  []int // by row: what it is solved for; variables from the width on are slacks
	column []int // the variable that stands at a column
	y      []float64
}

// Load begins a program with so many variables and these rows.
func (t *Tableau) Load(width int, rows []float64) {
	t.width, t.rows, t.basis = width, append(t.rows[:0], rows...), t.basis[:0]
	for i := range len(rows) / (width + 1) {
		t.basis = append(t.basis, width+i)
	}
}

// Solve returns the best y. It holds until the tableau is used again.
func (t *Tableau) Solve(demand []float64) []float64 {
	t.cost, t.column = append(append(t.cost[:0], demand...), 0), t.column[:0]
	for j := range demand {
		t.column = append(t.column, j)
	}
	for range mostPivots {
		enter := t.entering()
		if enter < 0 {
			break
		}
		leave := t.leaving(enter)
		if leave < 0 {
			break // unbounded: a resource that no machine has; its price does not matter
		}
		t.pivot(leave, enter)
	}
	t.y = append(t.y[:0], demand...)
	clear(t.y)
	for i, b := range t.basis {
		if b < t.width {
			t.y[b] = max(0, t.row(i)[t.width])
		}
	}
	return t.y
}

// maxPivots is far above what a program with a handful of resources takes.
const mostPivots = 500

const negligible = 1e-12

func (t *Tableau) row(i int) []float64 { return t.rows[i*(t.width+1) : (i+1)*(t.width+1)] }

func (t *Tableau) entering() int {
	best := -1
	for j, v := range t.column {
		if t.cost[j] > negligible && (best < 0 || v < t.column[best]) {
			best = j
		}
	}
	return best
}

func (t *Tableau) leaving(enter int) int {
	best, ratio := -1, 0.0
	for i := range t.basis {
		row := t.row(i)
		if row[enter] <= negligible {
			continue
		}
		if q := row[t.width] / row[enter]; best < 0 || q < ratio || q == ratio && t.basis[i] < t.basis[best] {
			best, ratio = i, q
		}
	}
	return best
}

func (t *Tableau) pivot(leave, enter int) {
	row := t.row(leave)
	p := row[enter]
	row[enter] = 1
	for j := range row {
		row[j] /= p
	}
	for i := range t.basis {
		if i != leave {
			eliminate(t.row(i), row, enter)
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
