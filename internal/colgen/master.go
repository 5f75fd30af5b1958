package colgen

// master is the linear program over the patterns that are known:
//
//	minimise   Σ cost[p]·times[p]
//	subject to Σ n[p][i]·times[p] ≥ count[i]  for each load i,  times ≥ 0
//
// solved by the revised simplex method with the inverse of the basis kept dense.
type master struct {
	rows     int
	count    []float64
	patterns []column
	basis    []int     // by row: a pattern, or surplus(i) for what exceeds count[i]
	inverse  []float64 // row by row
	times    []float64 // of what is in the basis
	worth    []float64 // dual price of each load
	enters   []float64 // scratch: the entering column by the basis
	isBasic  []bool
}

// column is a pattern with its cost.
type column struct {
	Pattern
	cost float64
}

// surplus is the basis entry for what exceeds the count of load i.
func surplus(i int) int { return -1 - i }

func newMaster(loads []Load) *master {
	n := len(loads)
	m := &master{rows: n, count: make([]float64, n), basis: make([]int, n), inverse: make([]float64, n*n),
		times: make([]float64, n), worth: make([]float64, n), enters: make([]float64, n)}
	m.recount(loads)
	return m
}

func (m *master) recount(loads []Load) {
	for i := range loads {
		m.count[i] = float64(loads[i].Count)
	}
}

func (m *master) add(p Pattern, cost float64) {
	m.patterns = append(m.patterns, column{p, cost})
	m.isBasic = append(m.isBasic, false)
}

// start makes a basis of one pattern for each load that holds nothing else, or of
// the surplus of a load of which there is nothing left.
func (m *master) start(alone []column) {
	clear(m.inverse)
	clear(m.isBasic)
	for i := range alone {
		p := &alone[i]
		if len(p.Parts) == 0 {
			m.basis[i], m.inverse[i*m.rows+i], m.times[i], m.worth[i] = surplus(i), -1, 0, 0
			continue
		}
		n := float64(p.Parts[0].N)
		m.basis[i], m.inverse[i*m.rows+i], m.times[i], m.worth[i] = len(m.patterns), 1/n, m.count[i]/n, p.cost/n
		m.add(p.Pattern, p.cost)
		m.isBasic[m.basis[i]] = true
	}
}

// cost of the basis.
func (m *master) cost() float64 {
	sum := 0.0
	for i, p := range m.basis {
		if p >= 0 {
			sum += float64(m.patterns[p].cost * m.times[i])
		}
	}
	return sum
}

// none says that nothing may enter.
const none = -1 << 62

// entering returns the pattern or surplus that the basis gains most from, for its
// cost, or none.
func (m *master) entering() int {
	best, most := none, 1+tolerance
	for p := range m.patterns {
		if m.isBasic[p] {
			continue
		}
		c := &m.patterns[p]
		worth := 0.0
		for _, part := range c.Parts {
			worth += float64(m.worth[part.Load] * float64(part.N))
		}
		if r := worth / c.cost; r > most {
			best, most = p, r
		}
	}
	if best != none {
		return best
	}
	least := -tolerance
	for i, w := range m.worth {
		if w < least {
			best, least = surplus(i), w
		}
	}
	return best
}

// pivot lets p enter the basis. It reports false where rounding leaves no way.
func (m *master) pivot(p int) bool {
	gain := m.direction(p)
	leave := m.leaving()
	if leave < 0 {
		return false
	}
	if was := m.basis[leave]; was >= 0 {
		m.isBasic[was] = false
	}
	if p >= 0 {
		m.isBasic[p] = true
	}
	m.basis[leave] = p
	row := m.inverse[leave*m.rows : (leave+1)*m.rows]
	by := 1 / m.enters[leave]
	for j := range row {
		row[j] *= by
	}
	m.times[leave] *= by
	for i, d := range m.enters {
		if i == leave || d == 0 {
			continue
		}
		other := m.inverse[i*m.rows : (i+1)*m.rows][:len(row)]
		for j, v := range row {
			other[j] -= float64(d * v)
		}
		m.times[i] = max(0, m.times[i]-float64(d*m.times[leave]))
	}
	for j, v := range row {
		m.worth[j] -= float64(gain * v)
	}
	return true
}

// direction writes the entering column by the basis, and returns by how much its
// content is worth more than it costs.
func (m *master) direction(p int) float64 {
	clear(m.enters)
	if p < 0 {
		i := -1 - p
		for r := range m.enters {
			m.enters[r] = -m.inverse[r*m.rows+i]
		}
		return -m.worth[i]
	}
	worth := 0.0
	for _, part := range m.patterns[p].Parts {
		n := float64(part.N)
		worth += float64(m.worth[part.Load] * n)
		for r := range m.enters {
			m.enters[r] += float64(m.inverse[r*m.rows+part.Load] * n)
		}
	}
	return worth - m.patterns[p].cost
}

// smallest pivot that is trusted.
const smallest = 1e-9

// leaving returns the row that reaches 0 first, of several the one with the
// largest pivot, or -1.
func (m *master) leaving() int {
	best, least := -1, 0.0
	for i, d := range m.enters {
		if d <= smallest {
			continue
		}
		ratio := m.times[i] / d
		if best < 0 || ratio < least-tolerance*least || ratio <= least && d > m.enters[best] {
			best, least = i, ratio
		}
	}
	return best
}
