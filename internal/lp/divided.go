package lp

import "math"

// Divided is the program of buying machines for items that may be divided among them,
//
//	minimise   Σ_k cost[k]·y[k] + Σ_i alone[i]·u[i]
//	subject to what the items x[k,j], the machines y[k] and u[i] have in row i ≥ demand[i]
//	           Σ_j share[k,j,r]·x[k,j] ≤ y[k]        for each resource r of kind k
//	           0 ≤ x[k,j] ≤ most[k,j]·y[k]
//
// It is what column generation over contents of machines with parts of items comes to, in
// one piece. It is solved by an interior-point method, with Mehrotra's predictor and
// corrector (1992): there are tens of thousands of items, but all that ties the kinds to
// each other is the rows, so that each step solves equations of as many unknowns as there
// are rows (see kindStep). Some thirty steps do, whatever the program is. The simplex method
// took 5,300 million operations for the 263 rows of world 1905000086, and what it had found by
// 800 million proved nothing yet. The 289 rows of 1905000050 take 37 steps here, which are
// 1,200 million, and prove 12 % more than the sums of resources.
type Divided struct {
	Demand []float64 // none is 0; below 0 for a limit
	Alone  []Column  // by row, of one entry or none: what covers it without any kind
	Kinds  []DividedKind
	Price  float64 // about what a solution costs
	// Start are prices at which no machine holds more than it costs; there may be none.
	Start []float64
}

// DividedKind is what holds items.
type DividedKind struct {
	Cost  float64 // 0 for what is there already
	Count float64 // about how many there may be, where the cost is 0
	Fixed []Entry // what each has in rows, whatever is on it
	Items []DividedItem
	Rows  int
	Share []float64 // of the room, item by item
}

// DividedItem counts for rows.
type DividedItem struct {
	Rows []Entry
	Most float64 // on one machine
}

const (
	// usualSteps are enough as a rule, and mostSteps are what is tried at most.
	usualSteps, mostSteps = 30, 60
	// within is how much of the way to the boundary a step goes.
	within = 0.99
)

// Prices returns a price for each row that are nearly the duals of an optimum: what they
// prove is about so much, as a share of the cost, below it. It returns how many operations
// that took, and no prices where it would take more than there are, or rounding has left none.
func (d *Divided) Prices(gap float64, operations int) ([]float64, int) {
	n := newInterior(d)
	each, spent := n.operations(), 0
	if usualSteps*each > operations {
		return nil, 0
	}
	// Not before it is known to be of use: each sort of node is a row.
	n.matrix = make([]float64, len(d.Demand)*len(d.Demand))
	for steps := 0; steps < mostSteps && spent+each <= operations && n.step(gap); steps++ {
		spent += each
	}
	prices := make([]float64, len(d.Demand))
	for i, w := range n.dual[n.row:n.cap] {
		if prices[i] = float64(w*n.inverse[i]) * d.Price; math.IsNaN(prices[i]) || math.IsInf(prices[i], 0) {
			return nil, spent
		}
	}
	return prices, spent
}

// interior is a point inside of a program, and of its dual. Each value has a partner of the
// other side, and one of both is 0 at the optimum. All is scaled so that a solution costs
// about 1 and each row asks for 1 or -1.
type interior struct {
	*Divided
	inverse []float64 // of the demands
	kinds   []kindStep
	// Where the values of each sort begin: items, kinds and what covers rows alone, with
	// what they lose by the prices as partners; and what exceeds rows, what is missing to
	// the most of items and what is left of resources, with the prices of these.
	kind, alone, row, cap, room int
	value, dual                 []float64
	step1, step2                []float64 // of values and partners
	target                      []float64 // of the products of both
	rest, lost                  []float64 // what is missing to feasibility, by place of its value
	matrix, right               []float64
}

func newInterior(d *Divided) *interior {
	n := &interior{Divided: d}
	items, rooms := 0, 0
	for k := range d.Kinds {
		of := &d.Kinds[k]
		n.kinds = append(n.kinds, newKindStep(d, k, items, rooms))
		items, rooms = items+len(of.Items), rooms+of.Rows
	}
	m := len(d.Demand)
	n.kind = items
	n.alone = n.kind + len(d.Kinds)
	n.row = n.alone + m
	n.cap = n.row + m
	n.room = n.cap + items
	size := n.room + rooms
	for _, v := range []*[]float64{&n.value, &n.dual, &n.step1, &n.step2, &n.target, &n.rest, &n.lost} {
		*v = make([]float64, size)
	}
	n.right = make([]float64, m)
	for _, v := range d.Demand {
		n.inverse = append(n.inverse, 1/math.Abs(v))
	}
	n.start()
	return n
}

// begin is the smallest value that the method begins with, as a share of an even one.
const begin = 0.1

// start begins with all rows covered by what covers each alone, a few machines of each kind
// that are not full, and half of the prices that are known to be feasible. That is inside of
// both programs, or nearly, and takes 27 steps in world 1905000034 instead of 41 from ones.
func (n *interior) start() {
	m := float64(len(n.Demand))
	for i := range n.Demand {
		known := 0.0
		if n.Start != nil {
			known = n.Start[i] / n.inverse[i] / n.Price
		}
		entry, cost := n.aloneOf(i)
		n.dual[n.row+i] = max(known/2, float64(begin/m*cost))
		if entry == 0 {
			n.dual[n.row+i] = max(known/2, begin/m)
			continue
		}
		n.value[n.alone+i], n.dual[n.alone+i] = 1, cost-n.dual[n.row+i]
	}
	for i := range n.kinds {
		n.kinds[i].start(n)
	}
	n.residuals()
	for i := range n.Demand {
		// What is missing without a surplus is the surplus, where there is one.
		n.value[n.row+i] = max(-n.rest[n.row+i], begin/m)
	}
}

// operations that a step takes. Most of them are products in scattered places, which take
// half as long again as others.
func (n *interior) operations() int {
	m := len(n.Demand)
	sum := m * m * m / 6
	for i := range n.kinds {
		k := &n.kinds[i]
		touched, rows := len(k.touched), k.Rows+2
		sum += touched*touched*rows/2 + len(k.Items)*rows*rows + 40*len(k.Items)
	}
	return sum + sum/2
}

// asks returns the scaled demand of a row.
func (n *interior) asks(i int) float64 { return math.Copysign(1, n.Demand[i]) }

// aloneOf returns what covers a row alone, scaled.
func (n *interior) aloneOf(i int) (entry, cost float64) {
	c := &n.Alone[i]
	if len(c.Entries) == 0 {
		return 0, 0
	}
	return 1, c.Cost / c.Entries[0].N / n.inverse[i] / n.Price
}

// step goes nearer to the optimum. It reports false where that is near enough, or where
// rounding leaves no way.
func (n *interior) step(gap float64) bool {
	distance := n.residuals()
	pairs, sum := 0, 0.0
	for i, v := range n.value {
		if v > 0 {
			pairs++
			sum += float64(v * n.dual[i])
		}
	}
	if sum < gap && distance < gap {
		return false
	}
	mean := sum / float64(pairs)
	n.factor()
	for i, v := range n.value {
		n.target[i] = -float64(v * n.dual[i])
	}
	n.direction()
	a, b := n.longest()
	a, b = min(1, a), min(1, b)
	after := 0.0
	for i, v := range n.value {
		after += float64((v + float64(a*n.step1[i])) * (n.dual[i] + float64(b*n.step2[i])))
	}
	part := min(1, after/sum)
	centre := float64(float64(float64(part*part)*part) * mean)
	for i, v := range n.value {
		n.target[i] = centre - float64(v*n.dual[i]) - float64(n.step1[i]*n.step2[i])
	}
	n.direction()
	a, b = n.longest()
	a, b = min(1, float64(within*a)), min(1, float64(within*b))
	if !(a > 1e-6 || b > 1e-6) {
		return false
	}
	for i := range n.value {
		n.value[i] += float64(a * n.step1[i])
		n.dual[i] += float64(b * n.step2[i])
	}
	return true
}

// longest returns how far values and their partners may go until one is 0.
func (n *interior) longest() (a, b float64) {
	a, b = 1/within, 1/within
	for i, v := range n.value {
		if s := n.step1[i]; s < 0 {
			a = min(a, -v/s)
		}
		if s := n.step2[i]; s < 0 {
			b = min(b, -n.dual[i]/s)
		}
	}
	return a, b
}

// residuals sets what is missing to feasibility, and returns the largest.
func (n *interior) residuals() float64 {
	for i := range n.Demand {
		entry, cost := n.aloneOf(i)
		n.rest[n.row+i] = n.asks(i) - float64(entry*n.value[n.alone+i]) + n.value[n.row+i]
		n.lost[n.alone+i] = cost - float64(entry*n.dual[n.row+i]) - n.dual[n.alone+i]
	}
	for i := range n.kinds {
		n.kinds[i].residuals(n)
	}
	most := 0.0
	for i := range n.row {
		most = max(most, math.Abs(n.lost[i]))
	}
	for i := n.row; i < len(n.rest); i++ {
		most = max(most, math.Abs(n.rest[i]))
	}
	return most
}

// factor states the equations for the prices of the rows, and factors their matrix.
func (n *interior) factor() {
	m := len(n.Demand)
	clear(n.matrix)
	for i := range m {
		at := i*m + i
		n.matrix[at] = n.value[n.row+i] / n.dual[n.row+i]
		if n.value[n.alone+i] > 0 {
			n.matrix[at] += n.value[n.alone+i] / n.dual[n.alone+i]
		}
	}
	for i := range n.kinds {
		n.kinds[i].factor(n)
	}
	cholesky(n.matrix, m)
}

// direction sets the steps that lead to the target.
func (n *interior) direction() {
	for i := range n.Demand {
		n.right[i] = n.rest[n.row+i] + n.target[n.row+i]/n.dual[n.row+i]
		if at := n.alone + i; n.value[at] > 0 {
			n.right[i] -= n.pull(at)
		}
	}
	for i := range n.kinds {
		n.kinds[i].gather(n)
	}
	m := len(n.Demand)
	forward(n.matrix, m, n.right)
	backward(n.matrix, m, n.right)
	for i, w := range n.right {
		n.move(n.row+i, w)
		if at := n.alone + i; n.value[at] > 0 {
			n.follow(at, w)
		}
	}
	for i := range n.kinds {
		n.kinds[i].scatter(n)
	}
}

// pull is by how much a value would change if no price did.
func (n *interior) pull(at int) float64 {
	return (n.target[at] - float64(n.value[at]*n.lost[at])) / n.dual[at]
}

// follow sets the step of a value whose worth by the prices changes by so much.
func (n *interior) follow(at int, worth float64) {
	n.step1[at] = n.pull(at) + float64(n.value[at]/n.dual[at]*worth)
	n.step2[at] = n.lost[at] - worth
}

// move sets the step of a price, and of what it is the partner of.
func (n *interior) move(at int, price float64) {
	n.step2[at] = price
	n.step1[at] = (n.target[at] - float64(n.value[at]*price)) / n.dual[at]
}

// cholesky replaces the lower half of a positive definite matrix by its factor.
func cholesky(a []float64, m int) {
	for j := range m {
		row := a[j*m : j*m+j+1]
		for i := range j {
			other := a[i*m : i*m+i+1]
			row[i] = (row[i] - dot(row[:i], other[:i])) / other[i]
		}
		rest := row[j] - dot(row[:j], row[:j])
		if rest <= math.Abs(row[j])*1e-14 {
			rest = math.Inf(1) // rounding has left nothing of the row: its unknown stays
		}
		row[j] = math.Sqrt(rest)
	}
}

// forward and backward solve the equations of a factor.
func forward(a []float64, m int, x []float64) {
	for i := range m {
		x[i] = (x[i] - dot(a[i*m:i*m+i], x[:i])) / a[i*m+i]
	}
}

func backward(a []float64, m int, x []float64) {
	for i := m - 1; i >= 0; i-- {
		x[i] /= a[i*m+i]
		for j, v := range a[i*m : i*m+i] {
			x[j] -= float64(v * x[i])
		}
	}
}

// dot adds up four products at a time, so that none waits for another.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	for len(a) >= 4 {
		s0 += float64(a[0] * b[0])
		s1 += float64(a[1] * b[1])
		s2 += float64(a[2] * b[2])
		s3 += float64(a[3] * b[3])
		a, b = a[4:], b[4:]
	}
	for i, v := range a {
		s0 += float64(v * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}
