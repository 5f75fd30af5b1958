package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// solved optimises a program and returns it with its basis at the optimum.
func solved(demand []float64, columns []Column) *Covering {
	c := NewCovering(demand)
	alone := make([]Column, len(demand))
	for i := range alone {
		alone[i] = Column{Entries: []Entry{{i, 1}}, Cost: 1e6} // artificial
	}
	c.Start(alone)
	for _, col := range columns {
		c.Add(col)
	}
	c.Optimise(math.MaxInt, 0)
	return c
}

func TestCovering(t *testing.T) {
	for name, c := range map[string]struct {
		demand  []float64
		columns []Column
		cost    float64
	}{
		"one column":              {[]float64{6}, []Column{{[]Entry{{0, 2}}, 5}}, 15},
		"the cheaper one":         {[]float64{6}, []Column{{[]Entry{{0, 2}}, 5}, {[]Entry{{0, 3}}, 6}}, 12},
		"both rows at once":       {[]float64{2, 2}, []Column{{[]Entry{{0, 1}}, 3}, {[]Entry{{1, 1}}, 3}, {[]Entry{{0, 1}, {1, 1}}, 4}}, 8},
		"two that complement":     {[]float64{5, 5}, []Column{{[]Entry{{0, 4}, {1, 1}}, 1}, {[]Entry{{0, 1}, {1, 4}}, 1}}, 2},
		"more of one than wanted": {[]float64{1, 5}, []Column{{[]Entry{{0, 1}, {1, 1}}, 1}}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			if got := solved(c.demand, c.columns).Cost(); math.Abs(got-c.cost) > 1e-6 {
				t.Errorf("costs %v, want %v", got, c.cost)
			}
		})
	}
}

// TestDuality: the levels cover the demand, the duals let no column be worth more than
// it costs, and what the demand is worth is the cost: each proves the other.
func TestDuality(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		demand := rapid.SliceOfN(rapid.Float64Range(0.5, 50), 1, 6).Draw(t, "demand")
		var columns []Column
		for range rapid.IntRange(1, 12).Draw(t, "columns") {
			col := Column{Cost: rapid.Float64Range(0.5, 20).Draw(t, "cost")}
			for i := range demand {
				if n := rapid.Float64Range(-2, 8).Draw(t, "n"); n > 0.01 {
					col.Entries = append(col.Entries, Entry{i, n})
				}
			}
			columns = append(columns, col)
		}
		c := solved(demand, columns)
		covered, value := make([]float64, len(demand)), 0.0
		for j, level := range c.Used {
			for _, e := range c.columns[j].Entries {
				covered[e.Row] += e.N * level
			}
		}
		for i, d := range demand {
			if covered[i] < d*(1-1e-5) {
				t.Fatalf("row %d: %v of %v covered", i, covered[i], d)
			}
			if c.Dual[i] < -1e-6 {
				t.Fatalf("row %d has the price %v", i, c.Dual[i])
			}
			value += c.Dual[i] * d
		}
		for _, col := range columns {
			sum := 0.0
			for _, e := range col.Entries {
				sum += e.N * c.Dual[e.Row]
			}
			if sum > col.Cost*(1+1e-5) {
				t.Fatalf("a column of %v is worth %v", col.Cost, sum)
			}
		}
		if math.Abs(value-c.Cost()) > 1e-5*(1+value) {
			t.Fatalf("costs %v and is worth %v", c.Cost(), value)
		}
	})
}
