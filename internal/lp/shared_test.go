package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestPrices(t *testing.T) {
	cheap, dear := Machine{Room: []float64{4, 8}, Cost: 1, Groups: []int{0}}, Machine{Room: []float64{4, 8}, Cost: 4, Groups: []int{0, 1}}
	for name, c := range map[string]struct {
		demand [][]float64
		want   float64
	}{
		"anywhere":                        {[][]float64{{4, 8}, {0, 0}}, 1},
		"where it is dear":                {[][]float64{{0, 0}, {4, 8}}, 4},
		"each where it may be":            {[][]float64{{4, 8}, {4, 8}}, 5},
		"beside another that left memory": {[][]float64{{0.4, 7}, {4, 1}}, 4.1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &SharedResources{Demand: c.demand, Machines: []Machine{cheap, dear}}
			if _, got := s.Prices(math.MaxInt); math.Abs(got-c.want) > 1e-5*c.want {
				t.Errorf("worth %v, want %v", got, c.want)
			}
		})
	}
}

// TestPricesEnd: once the operations are used up, the prices prove less.
func TestPricesEnd(t *testing.T) {
	s := &SharedResources{
		Demand:   [][]float64{{4, 1}, {1, 4}},
		Machines: []Machine{{Room: []float64{4, 2}, Cost: 2, Groups: []int{0, 1}}, {Room: []float64{2, 4}, Cost: 2, Groups: []int{0, 1}}, {Room: []float64{8, 8}, Cost: 5, Groups: []int{0}}},
	}
	_, some := s.Prices(1)
	if _, most := s.Prices(math.MaxInt); some <= 0 || some > most*(1-1e-3) {
		t.Errorf("%v is proven at once, and %v in the end", some, most)
	}
}

// TestPricesProve: at the prices no machine's room is worth more than the machine costs,
// whoever buys it, and the demand is worth what is said.
func TestPricesProve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		groups, width := rapid.IntRange(1, 5).Draw(t, "groups"), rapid.IntRange(1, 3).Draw(t, "resources")
		s := &SharedResources{}
		for range groups {
			s.Demand = append(s.Demand, rapid.SliceOfN(rapid.Float64Range(0, 100), width, width).Draw(t, "demand"))
		}
		for range rapid.IntRange(1, 10).Draw(t, "machines") {
			m := Machine{Room: rapid.SliceOfN(rapid.Float64Range(0, 16), width, width).Draw(t, "room"), Cost: rapid.Float64Range(0.1, 9).Draw(t, "cost")}
			for g := range groups {
				if rapid.Bool().Draw(t, "allowed") {
					m.Groups = append(m.Groups, g)
				}
			}
			s.Machines = append(s.Machines, m)
		}
		prices, proven := s.Prices(rapid.SampledFrom([]int{1, 30, math.MaxInt}).Draw(t, "operations"))
		total := 0.0
		for g := range prices {
			for r, p := range prices[g] {
				if p < 0 {
					t.Fatalf("a price of %v", p)
				}
				total += p * s.Demand[g][r]
			}
		}
		if math.Abs(total-proven) > 1e-6*(1+proven) {
			t.Fatalf("the demand is worth %v, not %v", total, proven)
		}
		for _, m := range s.Machines {
			sum := 0.0
			for r, room := range m.Room {
				most := 0.0
				for _, g := range m.Groups {
					most = max(most, prices[g][r])
				}
				sum += most * room
			}
			if sum > m.Cost*(1+1e-6) {
				t.Fatalf("a machine of %v is worth %v", m.Cost, sum)
			}
		}
	})
}
