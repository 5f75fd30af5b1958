package lp

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestDividedPricesAreNearlyOptimal: the prices, scaled until no machine can hold more than
// it costs, prove nearly what the simplex method finds over contents of machines.
func TestDividedPricesAreNearlyOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDivided(t)
		cost := byColumns(d)
		d.Price = max(1, cost) * rapid.Float64Range(0.5, 2).Draw(t, "known")
		if rapid.Bool().Draw(t, "start") {
			d.Start = make([]float64, len(d.Demand))
			for i, c := range d.Alone {
				if len(c.Entries) > 0 {
					d.Start[i] = c.Cost * rapid.Float64Range(0, 0.1).Draw(t, "price")
				}
			}
		}
		prices, spent := d.Prices(1e-5, math.MaxInt)
		if spent <= 0 {
			t.Fatal("no operations are counted")
		}
		if proven, err := provenBy(d, prices), 1e-3*max(1, cost); proven > cost+1e-3*err || proven < cost-err {
			t.Fatalf("%v is proven, the optimum is %v", proven, cost)
		}
	})
}

// provenBy returns what prices prove once those of what is to be covered are scaled. Nothing is
// cheaper than 0.
func provenBy(d *Divided, prices []float64) float64 {
	asked, limits, most := 0.0, 0.0, 0.0
	for i, w := range prices {
		switch {
		case len(d.Alone[i].Entries) > 0:
			asked += float64(w * d.Demand[i])
			most = max(most, float64(w*d.Alone[i].Entries[0].N)/d.Alone[i].Cost)
		case !isNode(d, i):
			limits -= float64(w * d.Demand[i])
		}
	}
	for k := range d.Kinds {
		of := &d.Kinds[k]
		value, _ := contentOf(of, prices)
		if of.Cost == 0 {
			asked -= float64(value * of.Count)
			continue
		}
		cost := of.Cost
		for _, e := range of.Fixed {
			if e.N < 0 {
				cost -= float64(e.N * prices[e.Row])
			} else {
				value += float64(e.N * prices[e.Row])
			}
		}
		most = max(most, value/cost)
	}
	return max(0, asked/most-limits)
}

// isNode reports whether a row says how many there are of what is there already.
func isNode(d *Divided, row int) bool {
	return slices.ContainsFunc(d.Kinds, func(k DividedKind) bool { return k.Cost == 0 && k.Fixed[0].Row == row })
}

// TestDividedTakesNoMoreOperations: where there are too few for the method, it says so.
func TestDividedTakesNoMoreOperations(t *testing.T) {
	d := &Divided{Demand: []float64{4}, Alone: []Column{{Entries: []Entry{{0, 2}}, Cost: 10}}, Price: 20,
		Kinds: []DividedKind{{Cost: 10, Rows: 1, Share: []float64{0.5}, Items: []DividedItem{{Rows: []Entry{{Row: 0, N: 1}}, Most: 2}}}}}
	if prices, spent := d.Prices(1e-4, 10); prices != nil || spent > 0 {
		t.Errorf("got %v after %d operations", prices, spent)
	}
	if prices, _ := d.Prices(1e-4, 1_000_000); len(prices) != 1 || math.Abs(prices[0]-5) > 0.01 {
		t.Errorf("got %v, want a price of 5", prices)
	}
}

// drawDivided draws a program with what is there already, what machines are used for at least,
// and limits, or without.
func drawDivided(t *rapid.T) *Divided {
	d := &Divided{}
	rows := rapid.IntRange(1, 5).Draw(t, "rows")
	for range rows {
		d.Demand = append(d.Demand, rapid.Float64Range(1, 50).Draw(t, "demand"))
		d.Alone = append(d.Alone, Column{Entries: []Entry{{len(d.Alone), 1}}, Cost: rapid.Float64Range(50, 200).Draw(t, "alone")})
	}
	for range rapid.IntRange(1, 4).Draw(t, "kinds") {
		k := drawKind(t, rows)
		k.Cost = rapid.Float64Range(1, 100).Draw(t, "cost")
		d.Kinds = append(d.Kinds, k)
	}
	if bought := len(d.Kinds); rapid.Bool().Draw(t, "limited") {
		least, limit := rows, rows+1
		d.Demand = append(d.Demand, 1, -1)
		d.Alone = append(d.Alone, Column{Entries: []Entry{{least, 1}}, Cost: rapid.Float64Range(50, 200).Draw(t, "alone")}, Column{})
		for k := range d.Kinds[:rapid.IntRange(1, bought).Draw(t, "of the pool")] {
			size := rapid.Float64Range(0.01, 1).Draw(t, "size")
			d.Kinds[k].Fixed = []Entry{{least, size * 2}, {limit, -size}}
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "nodes") {
		k := drawKind(t, rows)
		k.Count = float64(rapid.IntRange(1, 4).Draw(t, "count"))
		k.Fixed = []Entry{{len(d.Demand), -1}}
		d.Demand, d.Alone, d.Kinds = append(d.Demand, -k.Count), append(d.Alone, Column{}), append(d.Kinds, k)
	}
	return d
}

func drawKind(t *rapid.T, rows int) DividedKind {
	k := DividedKind{Rows: rapid.IntRange(0, 3).Draw(t, "resources")}
	for i := range rows {
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "left out") == 0 {
			continue
		}
		it := DividedItem{Rows: []Entry{{Row: i, N: 1}}, Most: rapid.Float64Range(1, 9).Draw(t, "most")}
		if i == 0 && rows > 1 && rapid.Bool().Draw(t, "shared") {
			it.Rows = append(it.Rows, Entry{Row: rows - 1, N: rapid.Float64Range(0.5, 2).Draw(t, "each")})
		}
		k.Items = append(k.Items, it)
		for range k.Rows {
			k.Share = append(k.Share, rapid.Float64Range(0, 1).Draw(t, "share"))
		}
	}
	return k
}

// contentOf returns what a kind can hold at most by prices of the rows, and how much of each
// item that is.
func contentOf(k *DividedKind, prices []float64) (float64, Column) {
	value, most := make([]float64, len(k.Items)), make([]float64, len(k.Items))
	for j, it := range k.Items {
		most[j] = it.Most
		for _, e := range it.Rows {
			value[j] += float64(e.N * prices[e.Row])
		}
	}
	p := NewPacking(k.Rows, k.Share, most)
	p.Solve(value)
	c, in := Column{Cost: max(free, k.Cost), Entries: slices.Clone(k.Fixed)}, make([]float64, len(prices))
	for j, it := range k.Items {
		for _, e := range it.Rows {
			in[e.Row] += float64(e.N * p.Content(j))
		}
	}
	for row, n := range in {
		if n > 0 {
			c.Entries = append(c.Entries, Entry{row, n})
		}
	}
	return p.Value, c
}

// free is the cost of what is there already, which the simplex method takes to be above 0.
const free = 1e-6

// byColumns returns the optimum, found by generating contents.
func byColumns(d *Divided) float64 {
	c := NewCovering(d.Demand)
	c.Start(d.Alone)
	for more := true; more; {
		c.Optimise(math.MaxInt, 0)
		more = false
		for k := range d.Kinds {
			value, content := contentOf(&d.Kinds[k], c.Dual)
			for _, e := range d.Kinds[k].Fixed {
				value += float64(e.N * c.Dual[e.Row])
			}
			if value > content.Cost+1e-6*max(1, d.Kinds[k].Cost) {
				c.Add(content)
				more = true
			}
		}
	}
	return c.Cost()
}
