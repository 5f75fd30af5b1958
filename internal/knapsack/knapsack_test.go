package knapsack

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a machine with items, and what they may be worth.
type drawn struct {
	room   []int64
	items  []Item
	values []float64
}

// machines draws machines that are small enough to try all contents. Room may be needed in
// multiples of some number, and there may be more of it than anything needs.
func machines(t *rapid.T) *drawn {
	d := &drawn{}
	grain := rapid.Int64Range(1, 3).Draw(t, "grain")
	for range rapid.IntRange(1, 6).Draw(t, "resources") {
		d.room = append(d.room, rapid.Int64Range(1, 30).Draw(t, "room"))
	}
	for range rapid.IntRange(0, 5).Draw(t, "items") {
		it := Item{Most: rapid.Int64Range(1, 4).Draw(t, "most")}
		for _, room := range d.room {
			it.Need = append(it.Need, grain*rapid.Int64Range(0, room/grain).Draw(t, "need"))
		}
		d.items = append(d.items, it)
	}
	return d
}

// value draws what the items are worth: some nothing, and some the same.
func (d *drawn) value(t *rapid.T) {
	d.values = make([]float64, len(d.items))
	for j := range d.values {
		d.values[j] = float64(max(0, rapid.IntRange(-20, 100).Draw(t, "value"))) / 10
	}
}

// best is the value of the best content with items from one on, of all that there are.
func (d *drawn) best(room []int64, item int) float64 {
	if item == len(d.items) {
		return 0
	}
	best := 0.0
	for n := int64(0); n <= d.items[item].Most; n++ {
		rest := make([]int64, len(room))
		for r, v := range room {
			if rest[r] = v - n*d.items[item].Need[r]; rest[r] < 0 {
				return best
			}
		}
		best = max(best, float64(n)*d.values[item]+d.best(rest, item+1))
	}
	return best
}

// worth returns what a content is worth, which has to fit.
func (d *drawn) worth(t *rapid.T, content []int64) float64 {
	used, sum := make([]int64, len(d.room)), 0.0
	for j, n := range content {
		if n < 0 || n > d.items[j].Most {
			t.Fatalf("%d of item %d, of which there are %d", n, j, d.items[j].Most)
		}
		sum += float64(n) * d.values[j]
		for r, v := range d.items[j].Need {
			if used[r] += n * v; used[r] > d.room[r] {
				t.Fatalf("%v uses %d of the %d of resource %d", content, used[r], d.room[r], r)
			}
		}
	}
	return sum
}

const (
	rounding     = 1e-9
	plentyOfTime = 1 << 18
)

// TestCeiling: no content is worth more than the ceiling, however the values have changed, and
// where it is not below what is enough, it is as low as one that was found from nothing.
func TestCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := machines(t)
		k := New(d.room, d.items)
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			d.value(t)
			best, enough := d.best(d.room, 0), rapid.Float64Range(0, 50).Draw(t, "enough")
			got, _ := k.Ceiling(d.values, enough)
			least, _ := New(d.room, d.items).Ceiling(d.values, 0)
			if got < best-rounding || got >= enough && got > least+1e-6*(1+least) {
				t.Fatalf("the ceiling is %v, of one that is new %v; the best content is worth %v", got, least, best)
			}
		}
	})
}

// TestCutsKnowWhatIsWhole: of items that need more than half of a machine it holds one, and of
// those that need more than a third two, whatever they are.
func TestCutsKnowWhatIsWhole(t *testing.T) {
	for need, want := range map[int64]float64{6: 1, 4: 2, 3: 3} {
		items := []Item{{Need: []int64{need}, Most: 9}, {Need: []int64{need}, Most: 9}}
		if got, _ := New([]int64{10}, items).Ceiling([]float64{1, 1}, 0); math.Abs(got-want) > rounding {
			t.Errorf("a machine of 10 holds %v items of %d, want %v", got, need, want)
		}
	}
}

// TestSearchFindsTheBestContent: what is found fits and is worth more than it has to be. What
// is proven is never below the best content, and with steps enough it is that, if it is worth
// more than it has to be.
func TestSearchFindsTheBestContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, s := machines(t), &Search{}
		k := New(d.room, d.items)
		for range rapid.IntRange(1, 3).Draw(t, "times") {
			d.value(t)
			best, least := d.best(d.room, 0), rapid.Float64Range(0, 30).Draw(t, "least")
			ceiling, _ := k.Ceiling(d.values, least)
			for _, steps := range []int{4, 64, plentyOfTime} {
				got := s.Run(k, least, steps)
				if got < min(best, least)-rounding || best > least && got < best-rounding || got > ceiling {
					t.Fatalf("%v is proven with %d steps, the best is %v and the ceiling %v", got, steps, best, ceiling)
				}
				worth := 0.0
				if s.Found {
					if worth = d.worth(t, s.Content); worth < least-rounding {
						t.Fatalf("%v is worth %v, which is not more than %v", s.Content, worth, least)
					}
				}
				if steps == plentyOfTime && best > least+rounding && (math.Abs(got-best) > rounding || worth < best-rounding) {
					t.Fatalf("%v is found and %v proven, the best is %v", worth, got, best)
				}
			}
		}
	})
}

// TestSearchKeepsToItsSteps: it ends soon after them on a machine with countless contents, with
// one that is nearly the best.
func TestSearchKeepsToItsSteps(t *testing.T) {
	d := &drawn{room: []int64{10_007, 10_007, 10_007}}
	for j := range int64(60) {
		d.items = append(d.items, Item{Need: []int64{101 + 37*j%83, 90 + 53*j%97, 80 + 71*j%89}, Most: 50})
		d.values = append(d.values, 1)
	}
	k, s := New(d.room, d.items), &Search{}
	ceiling, _ := k.Ceiling(d.values, 0)
	const steps = 256
	s.Run(k, 0, steps)
	if begin := operationsPerShare * len(d.items) * (k.Rows + operationsPerShare); s.Operations > begin+steps*operationsPerStep {
		t.Errorf("%d operations for %d steps", s.Operations, steps)
	}
	held := int64(0)
	for _, n := range s.Content {
		held += n
	}
	if !s.Found || float64(held) < 0.95*ceiling {
		t.Errorf("%d items are found where no more than %v fit", held, ceiling)
	}
}
