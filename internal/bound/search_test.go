package bound

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSearchFindsTheBestContent: what is proven of a machine is what the best content is
// worth if there are steps enough, and never less.
func TestSearchFindsTheBestContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, prices := &Problem{}, []float64(nil)
		for range rapid.IntRange(1, 5).Draw(t, "classes") {
			p.Classes = append(p.Classes, Class{
				Need:  []int64{rapid.Int64Range(1, 12).Draw(t, "cpu"), rapid.Int64Range(0, 12).Draw(t, "memory")},
				Count: rapid.Int64Range(1, 4).Draw(t, "pods"),
			})
			prices = append(prices, rapid.Float64Range(0, 10).Draw(t, "value"))
		}
		var items []item
		for i, c := range p.Classes {
			items = append(items, item{class: i, most: c.Count})
		}
		room := []int64{rapid.Int64Range(0, 30).Draw(t, "room"), rapid.Int64Range(0, 30).Draw(t, "room")}
		k := newKind(p, room, items, nil)
		best := bestContent(p, room, prices, 0)
		value, _ := k.ceiling(prices, 0)
		if value < best-1e-9 {
			t.Fatalf("divided pods are worth %v, whole ones %v", value, best)
		}
		if len(k.items) == 0 {
			return
		}
		for _, steps := range []int{4, 64, 1 << 16} {
			s := &search{}
			s.begin(k)
			got := s.run(0, steps)
			if got < best-1e-9 || steps == 1<<16 && best > 0 && math.Abs(got-best) > 1e-9 {
				t.Fatalf("%v is proven with %d steps, the best is %v", got, steps, best)
			}
		}
	})
}

func bestContent(p *Problem, room []int64, prices []float64, class int) float64 {
	if class == len(p.Classes) {
		return 0
	}
	c, best := &p.Classes[class], 0.0
	for n := int64(0); n <= c.Count; n++ {
		rest := make([]int64, len(room))
		for r, v := range room {
			if rest[r] = v - n*c.Need[r]; rest[r] < 0 {
				return best
			}
		}
		best = max(best, float64(n)*prices[class]+bestContent(p, rest, prices, class+1))
	}
	return best
}
