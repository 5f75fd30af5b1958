// Package lp solves linear programs that cover demands at the least cost:
//
//	minimise   Σ cost[j]·level[j]
//	subject to Σ a[j][i]·level[j] ≥ demand[i]  for each row i,  level ≥ 0
//
// by the revised simplex method, with the inverse of the basis kept dense. Columns may be added
// at any time, so that they can be generated while the duals ask for more. A limit is a row
// with a demand below 0, to which columns add amounts below 0: they use up at most that much.
// Products are rounded one by one, so that a result does not depend on whether the processor
// fuses them.
package lp

// Entry is what a column has in a row: below 0 where it takes of a limit.
type Entry struct {
	Row int
	N   float64
}

// Column covers rows at a cost above 0.
type Column struct {
	Entries []Entry
	Cost    float64
}

// Covering is a program, and the basis that its solution is at.
type Covering struct {
	// Dual is the price of each row.
	Dual []float64

	rows    int
	demand  []float64
	columns []Column
	basis   []int     // by row: a column, or surplus(i) for what exceeds demand[i]
	inverse []float64 // row by row
	level   []float64 // of what is in the basis
	enters  []float64 // scratch: the entering column by the basis
	isBasic []bool
	gaining []int // columns that are new, and those from which the basis gained when all were looked at last
}

// Tolerance is the share of a cost that counts as nothing.
const Tolerance = 1e-7

// Safety takes off a bound what rounding could have added.
const Safety = 1 - 1e-9

// none says that nothing may enter.
const none = -1 << 62

// Smallest pivot that is trusted.
const Smallest = 1e-9

// surplus is the basis entry for what exceeds the demand of row i.
func surplus(i int) int { return -1 - i }

// NewCovering returns a program without columns. It has no basis before Start.
func NewCovering(demand []float64) *Covering {
	n := len(demand)
	return &Covering{
		Dual: make([]float64, n), rows: n, demand: demand, basis: make([]int, n), inverse: make([]float64, n*n),
		level: make([]float64, n), enters: make([]float64, n),
	}
}

// Rows is how many rows there are.
func (c *Covering) Rows() int { return c.rows }

// Add makes a column known and returns its number.
func (c *Covering) Add(col Column) int {
	c.columns, c.isBasic = append(c.columns, col), append(c.isBasic, false)
	c.gaining = append(c.gaining, len(c.columns)-1)
	return len(c.columns) - 1
}

// Start makes a basis of one column for each row that covers no other, or of the
// surplus where a column is empty: then there is no demand, or a limit.
func (c *Covering) Start(alone []Column) {
	clear(c.inverse)
	clear(c.isBasic)
	c.gaining = c.gaining[:0]
	for i, col := range alone {
		if len(col.Entries) == 0 {
			c.basis[i], c.inverse[i*c.rows+i], c.level[i], c.Dual[i] = surplus(i), -1, max(0, -c.demand[i]), 0
			continue
		}
		n := col.Entries[0].N
		c.basis[i], c.inverse[i*c.rows+i], c.level[i], c.Dual[i] = c.Add(col), 1/n, c.demand[i]/n, col.Cost/n
		c.isBasic[c.basis[i]] = true
	}
}

// Cost of the basis.
func (c *Covering) Cost() float64 {
	sum := 0.0
	for i, j := range c.basis {
		if j >= 0 {
			sum += float64(c.columns[j].Cost * c.level[i])
		}
	}
	return sum
}

// Used calls yield with the columns of the basis and their levels.
func (c *Covering) Used(yield func(column int, level float64) bool) {
	for i, j := range c.basis {
		if j >= 0 && c.level[i] > Tolerance && !yield(j, c.level[i]) {
			return
		}
	}
}

// Optimise improves the basis until it is the best for the columns that there are, or so
// many operations are used up, and returns how many are left. A step takes so many for each
// column that it looks at.
func (c *Covering) Optimise(operations, perColumn int) int {
	for operations > 0 {
		j, looked := c.entering()
		if j == none || !c.pivot(j) {
			break
		}
		operations -= c.rows*c.rows + perColumn*looked
	}
	return operations
}

// entering returns the column or surplus that the basis gains most from, for its
// cost, or none, and at how many columns it had to look. It looks at all of them only if
// the basis gains from none of those in gaining (partial pricing).
func (c *Covering) entering() (best, looked int) {
	looked = len(c.gaining)
	if best = c.steepest(); best == none {
		looked += len(c.columns)
		for j := range c.columns {
			c.gaining = append(c.gaining, j)
		}
		best = c.steepest()
	}
	if best != none {
		return best, looked
	}
	least := -Tolerance
	for i, w := range c.Dual {
		if w < least {
			best, least = surplus(i), w
		}
	}
	return best, looked
}

// steepest returns the column in gaining that the basis gains most from, and keeps there only those from which it
// still gains.
func (c *Covering) steepest() int {
	best, most, kept := none, 1+Tolerance, c.gaining[:0]
	for _, j := range c.gaining {
		if c.isBasic[j] {
			continue
		}
		col := &c.columns[j]
		value := 0.0
		for _, e := range col.Entries {
			value += float64(c.Dual[e.Row] * e.N)
		}
		r := value / col.Cost
		if r <= 1+Tolerance {
			continue
		}
		kept = append(kept, j)
		if r > most {
			best, most = j, r
		}
	}
	c.gaining = kept
	return best
}

// pivot lets a column enter the basis. It reports false where rounding leaves no way.
func (c *Covering) pivot(enters int) bool {
	gain := c.direction(enters)
	leave := c.leaving()
	if leave < 0 {
		return false
	}
	if was := c.basis[leave]; was >= 0 {
		c.isBasic[was] = false
	}
	if enters >= 0 {
		c.isBasic[enters] = true
	}
	c.basis[leave] = enters
	row := c.inverse[leave*c.rows : (leave+1)*c.rows]
	by := 1 / c.enters[leave]
	for j := range row {
		row[j] *= by
	}
	c.level[leave] *= by
	for i, d := range c.enters {
		if i == leave || d == 0 {
			continue
		}
		other := c.inverse[i*c.rows : (i+1)*c.rows][:len(row)]
		for j, v := range row {
			other[j] -= float64(d * v)
		}
		c.level[i] = max(0, c.level[i]-float64(d*c.level[leave]))
	}
	for j, v := range row {
		c.Dual[j] -= float64(gain * v)
	}
	return true
}

// direction writes the entering column by the basis, and returns by how much its
// content is worth more than it costs.
func (c *Covering) direction(enters int) float64 {
	clear(c.enters)
	if enters < 0 {
		i := -1 - enters
		for r := range c.enters {
			c.enters[r] = -c.inverse[r*c.rows+i]
		}
		return -c.Dual[i]
	}
	value := 0.0
	for _, e := range c.columns[enters].Entries {
		value += float64(c.Dual[e.Row] * e.N)
		for r := range c.enters {
			c.enters[r] += float64(c.inverse[r*c.rows+e.Row] * e.N)
		}
	}
	return value - c.columns[enters].Cost
}

// leaving returns the row that reaches 0 first, of several the one with the
// largest pivot, or -1.
func (c *Covering) leaving() int {
	best, least := -1, 0.0
	for i, d := range c.enters {
		if d <= Smallest {
			continue
		}
		ratio := c.level[i] / d
		if best < 0 || ratio < least-float64(Tolerance*least) || ratio <= least && d > c.enters[best] {
			best, least = i, ratio
		}
	}
	return best
}
