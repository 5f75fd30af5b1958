package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestKnapsackProves: a ceiling is reached by a solution that fits once it has been solved, and
// is never below what fits before, however the values have changed.
func TestKnapsackProves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, n := rapid.IntRange(1, 4).Draw(t, "resources"), rapid.IntRange(1, 8).Draw(t, "items")
		share, items := make([]float64, rows*n), make([]int, n)
		for i := range share {
			share[i] = max(0, rapid.Float64Range(-0.2, 1).Draw(t, "share"))
		}
		for j := range items {
			items[j] = 2*j + 1 // values between them are not asked about
			share[j*rows] = max(0.01, share[j*rows])
		}
		k := NewKnapsack(rows, items, share)
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			value := make([]float64, 2*n+1)
			for j := range value {
				value[j] = float64(max(0, rapid.IntRange(-10, 100).Draw(t, "value"))) / 10
			}
			stale := k.Ceiling(value)
			k.Solve(value)
			held, least := checkContent(t, k, share, value), k.Ceiling(value)
			if stale < least*(1-1e-6) {
				t.Fatalf("%v is proven without a solution, and %v with it", stale, least)
			}
			if math.Abs(held-least) > 1e-6*(1+least) {
				t.Fatalf("the content is worth %v, and %v is proven", held, least)
			}
		}
	})
}

// checkContent returns what the content is worth, which has to fit.
func checkContent(t *rapid.T, k *Knapsack, share, value []float64) float64 {
	used, sum := make([]float64, k.Rows()), 0.0
	for row := range k.Rows() {
		item, n, ok := k.Content(row)
		if !ok {
			continue
		}
		sum += float64(n * value[item])
		for r := range used {
			used[r] += float64(n * share[(item-1)/2*k.Rows()+r])
		}
	}
	for r, v := range used {
		if v > 1+1e-6 {
			t.Fatalf("uses %v of resource %d", v, r)
		}
	}
	return sum
}
