package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPacking(t *testing.T) {
	for name, c := range map[string]struct {
		rows        int
		share, most []float64
		each        []float64
		value       float64
	}{
		"one item, divided":         {1, []float64{0.4}, []float64{10}, []float64{2}, 5},
		"no more than there is":     {1, []float64{0.4}, []float64{2}, []float64{2}, 4},
		"the better one first":      {1, []float64{0.5, 0.5}, []float64{1, 9}, []float64{3, 2}, 5},
		"two that complement":       {2, []float64{0.8, 0.2, 0.2, 0.8}, []float64{9, 9}, []float64{1, 1}, 2},
		"worth nothing":             {1, []float64{0.5}, []float64{3}, []float64{0}, 0},
		"room enough for everybody": {0, nil, []float64{3, 2}, []float64{1, 2}, 7},
	} {
		p := NewPacking(c.rows, c.share, c.most)
		p.Solve(c.each)
		if math.Abs(p.Value-c.value) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, p.Value, c.value)
		}
	}
}

// TestPackingProves: the value is proven by the prices and reached by the solution,
// however the values have changed before.
func TestPackingProves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, items := rapid.IntRange(0, 4).Draw(t, "resources"), rapid.IntRange(1, 12).Draw(t, "items")
		share, most := make([]float64, rows*items), make([]float64, items)
		for i := range share {
			share[i] = max(0, rapid.Float64Range(-0.3, 1).Draw(t, "share"))
		}
		for j := range most {
			most[j] = float64(rapid.IntRange(1, 8).Draw(t, "most"))
		}
		p := NewPacking(rows, share, most)
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			each := make([]float64, items)
			for j := range each {
				each[j] = rapid.Float64Range(0, 10).Draw(t, "value")
			}
			p.Solve(each)
			x, used, value := make([]float64, items), make([]float64, rows), 0.0
			for j := range x {
				if p.full[j] {
					x[j] = most[j]
				}
			}
			for i, b := range p.basis {
				if b >= 0 {
					x[b] = p.x[i]
				}
			}
			for j, v := range x {
				if v < -1e-6 || v > most[j]+1e-6 {
					t.Fatalf("%v of item %d, of which there are %v", v, j, most[j])
				}
				value += v * each[j]
				for r := range used {
					used[r] += v * share[j*rows+r]
				}
			}
			for r, v := range used {
				if v > 1+1e-6 {
					t.Fatalf("%v of resource %d is used", v, r)
				}
			}
			if math.Abs(value-p.Value) > 1e-6*(1+value) {
				t.Fatalf("the solution is worth %v, proven is %v", value, p.Value)
			}
		}
	})
}
