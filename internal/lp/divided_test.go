package lp

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestDividedPricesAreNearlyOptimal: the prices, scaled until no machine can hold more than
// it costs, prove nearly what the simplex method finds over contents of machines.
func TestDividedPricesAreNearlyOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDivided(t)
		cost := byColumns(d)
		d.Price = cost * rapid.Float64Range(0.5, 2).Draw(t, "known")
		prices, spent := d.Prices(1e-5, math.MaxInt)
		if spent <= 0 {
			t.Fatal("no operations are counted")
		}
		total, most := 0.0, 0.0
		for i, w := range prices {
			total += float64(w * d.Demand[i])
			most = max(most, float64(w*d.Alone[i].Entries[0].N)/d.Alone[i].Cost)
		}
		for k := range d.Kinds {
			value, _ := contentOf(&d.Kinds[k], prices)
			most = max(most, value/d.Kinds[k].Cost)
		}
		if proven := total / most; proven > cost*(1+1e-6) || proven < cost*(1-1e-3) {
			t.Fatalf("%v is proven, the optimum is %v", proven, cost)
		}
	})
}

// TestDividedTakesNoMoreOperations: where there are too few for the method, it says so.
func TestDividedTakesNoMoreOperations(t *testing.T) {
	d := &Divided{Demand: []float64{4}, Alone: []Column{{Entries: []Entry{{0, 2}}, Cost: 10}}, Price: 20,
		Kinds: []DividedKind{{Cost: 10, Rows: 1, Share: []float64{0.5}, Items: []DividedItem{{Rows: []int{0}, Most: 2}}}}}
	if prices, spent := d.Prices(1e-4, 10); prices != nil || spent > 0 {
		t.Errorf("got %v after %d operations", prices, spent)
	}
	if prices, _ := d.Prices(1e-4, 1_000_000); len(prices) != 1 || math.Abs(prices[0]-5) > 0.01 {
		t.Errorf("got %v, want a price of 5", prices)
	}
}

func drawDivided(t *rapid.T) *Divided {
	d := &Divided{}
	rows := rapid.IntRange(1, 5).Draw(t, "rows")
	for range rows {
		d.Demand = append(d.Demand, rapid.Float64Range(1, 50).Draw(t, "demand"))
	}
	for range rapid.IntRange(1, 4).Draw(t, "kinds") {
		k := DividedKind{Cost: rapid.Float64Range(1, 100).Draw(t, "cost"), Rows: rapid.IntRange(0, 3).Draw(t, "resources")}
		for i := range rows {
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "left out") == 0 {
				continue
			}
			it := DividedItem{Rows: []int{i}, Most: rapid.Float64Range(1, 9).Draw(t, "most")}
			if i == 0 && rows > 1 && rapid.Bool().Draw(t, "shared") {
				it.Rows = append(it.Rows, rows-1)
			}
			k.Items = append(k.Items, it)
			for range k.Rows {
				k.Share = append(k.Share, rapid.Float64Range(0, 1).Draw(t, "share"))
			}
		}
		d.Kinds = append(d.Kinds, k)
	}
	for i := range rows {
		d.Alone = append(d.Alone, Column{Entries: []Entry{{i, 1}}, Cost: rapid.Float64Range(50, 200).Draw(t, "alone")})
	}
	return d
}

// contentOf returns what a kind can hold at most by prices of the rows, and how much of each
// item that is.
func contentOf(k *DividedKind, prices []float64) (float64, Column) {
	value, most := make([]float64, len(k.Items)), make([]float64, len(k.Items))
	for j, it := range k.Items {
		most[j] = it.Most
		for _, row := range it.Rows {
			value[j] += prices[row]
		}
	}
	p := NewPacking(k.Rows, k.Share, most)
	p.Solve(value)
	c, in := Column{Cost: k.Cost}, make([]float64, len(prices))
	for j, it := range k.Items {
		for _, row := range it.Rows {
			in[row] += p.Content(j)
		}
	}
	for row, n := range in {
		if n > 0 {
			c.Entries = append(c.Entries, Entry{row, n})
		}
	}
	return p.Value, c
}

// byColumns returns the optimum, found by generating contents.
func byColumns(d *Divided) float64 {
	c := NewCovering(d.Demand)
	c.Start(d.Alone)
	for more := true; more; {
		for j := c.Entering(); j != None && c.Pivot(j); j = c.Entering() {
		}
		more = false
		for k := range d.Kinds {
			if value, content := contentOf(&d.Kinds[k], c.Dual); value > d.Kinds[k].Cost*(1+1e-6) {
				c.Add(content)
				more = true
			}
		}
	}
	return c.Cost()
}
