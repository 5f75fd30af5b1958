package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func duals(demand []float64, room [][]float64, price []float64) []float64 {
	var t Tableau
	var rows []float64
	for i := range room {
		rows = append(append(rows, room[i]...), price[i])
	}
	t.Load(len(demand), rows)
	return t.Solve(demand)
}

func TestDuals(t *testing.T) {
	for name, c := range map[string]struct {
		demand []float64
		room   [][]float64
		price  []float64
		value  float64
	}{
		"one type":            {[]float64{2, 1}, [][]float64{{1, 1}}, []float64{3}, 6},
		"two that complement": {[]float64{1, 1}, [][]float64{{2, 0.5}, {0.5, 2}}, []float64{1, 1}, 0.8},
		"a dear one":          {[]float64{1, 1}, [][]float64{{1, 1}, {1, 1}}, []float64{5, 4}, 4},
		"nobody has it":       {[]float64{1}, [][]float64{{0}}, []float64{1}, 0},
	} {
		y := duals(c.demand, c.room, c.price)
		value := 0.0
		for r := range y {
			value += y[r] * c.demand[r]
		}
		if math.Abs(value-c.value) > 1e-9 {
			t.Errorf("%s: got %v of value %v, want %v", name, y, value, c.value)
		}
	}
}

func TestDualsAreFeasible(t *testing.T) {
	amount := rapid.Float64Range(0.01, 100)
	rapid.Check(t, func(r *rapid.T) {
		width := rapid.IntRange(1, 5).Draw(r, "resources")
		demand := rapid.SliceOfN(amount, width, width).Draw(r, "demand")
		var room [][]float64
		var price []float64
		for range rapid.IntRange(1, 20).Draw(r, "types") {
			room = append(room, rapid.SliceOfN(amount, width, width).Draw(r, "room"))
			price = append(price, amount.Draw(r, "price"))
		}
		y := duals(demand, room, price)
		tight := false
		for i := range room {
			sum := 0.0
			for k := range y {
				if y[k] < 0 {
					r.Fatalf("a negative price %v", y)
				}
				sum += y[k] * room[i][k]
			}
			if sum > price[i]*(1+1e-6) {
				r.Fatalf("type %d is worth %v, more than its price %v", i, sum, price[i])
			}
			tight = tight || sum > price[i]*(1-1e-6)
		}
		if !tight {
			r.Fatalf("no type is worth its price: %v is not optimal", y)
		}
	})
}
