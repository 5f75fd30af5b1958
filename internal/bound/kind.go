package bound

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// kind is what a pattern fills: a machine that can be bought, or a node.
type kind struct {
	price float64    // 0 for a node
	node  int        // the row of nodes like it, or -1
	count float64    // how many of them there are
	fixed []lp.Entry // what each machine has in rows, whatever is on it
	items []item
	rows  int     // resources and groups of which items can run short, and cuts
	plain int     // rows that are no cuts
	need  []int64 // item by item
	room  []int64

	share   []float64 // of the room, item by item
	packing *lp.Packing
	values  []float64 // of the items, by the prices that were looked at last
}

// item is a class that may be on a machine.
type item struct {
	class int
	most  int64
	also  []int // rows besides that of its class that its pods count for
}

// newKind returns the kind with the items of which at least one fits. The limits are
// how many pods of each of the problem's groups it holds.
func newKind(p *Problem, room []int64, items []item, groups []int64) *kind {
	k := &kind{node: -1}
	for _, it := range items {
		c := &p.Classes[it.class]
		for g, most := range groups {
			if slices.Contains(p.Groups[g].Classes, it.class) {
				it.most = min(it.most, most)
			}
		}
		if it.most = amount.Copies(c.Need, room, min(it.most, c.Count)); it.most > 0 {
			k.items = append(k.items, it)
		}
	}
	var columns [][]int64 // by row: what each item needs
	for r, v := range room {
		need := make([]int64, len(k.items))
		for j, it := range k.items {
			need[j] = p.Classes[it.class].Need[r]
		}
		columns = k.restrict(columns, need, v)
	}
	for g, most := range groups {
		need := make([]int64, len(k.items))
		for j, it := range k.items {
			if slices.Contains(p.Groups[g].Classes, it.class) {
				need[j] = 1
			}
		}
		columns = k.restrict(columns, need, most)
	}
	k.plain = len(columns)
	for r := range k.plain {
		columns = k.cut(columns, columns[r], k.room[r])
	}
	k.rows, k.values = len(columns), make([]float64, len(k.items))
	for j := range k.items {
		for _, column := range columns {
			k.need = append(k.need, column[j])
		}
	}
	k.share = make([]float64, 0, len(k.need))
	most := make([]float64, len(k.items))
	for j := range k.items {
		most[j] = float64(k.items[j].most)
		for r, v := range k.need[j*k.rows:][:k.rows] {
			k.share = append(k.share, float64(v)/float64(k.room[r]))
		}
	}
	k.packing = lp.NewPacking(k.rows, k.share, most)
	return k
}

// divided states the kind for the program over divided pods, with so many of its rows.
func (k *kind) divided(rows int) lp.DividedKind {
	out := lp.DividedKind{Cost: k.price, Count: k.count, Fixed: k.fixed, Rows: rows}
	for j, it := range k.items {
		out.Items = append(out.Items, lp.DividedItem{Rows: append([]int{it.class}, it.also...), Most: float64(it.most)})
		out.Share = append(out.Share, k.share[j*k.rows:][:rows]...)
	}
	return out
}

// restrict adds a row, unless all items together do not need as much as there is. Pods
// cannot use less than a multiple of what divides all needs.
func (k *kind) restrict(columns [][]int64, need []int64, room int64) [][]int64 {
	total, grain := 0.0, int64(0)
	for j, v := range need {
		total += float64(float64(v) * float64(k.items[j].most))
		grain = amount.GCD(v, grain)
	}
	if total <= float64(room) || grain == 0 {
		return columns
	}
	k.room = append(k.room, room-room%grain)
	return append(columns, need)
}

// mostCuts rows are added for each resource.
const mostCuts = 4

// cut adds rows that whole pods keep and parts of pods may not: with n below, pods that
// each need more than a n-th part of the room count as a whole (n-1)-th of it, rounded
// down, since no more of them fit (these are the dual feasible functions of Fekete and
// Schepers 2001). Two pods that need more than a half do not fit, of whatever classes.
func (k *kind) cut(columns [][]int64, need []int64, room int64) [][]int64 {
	for n := int64(2); n < 2+mostCuts; n++ {
		cut, tight, total := make([]int64, len(need)), false, 0.0
		for j, v := range need {
			if cut[j] = v * n / room * n; v*n%room == 0 {
				cut[j] = v * n / room * (n - 1)
			}
			tight = tight || float64(cut[j])*float64(room) > tighter*float64(v)*float64(n*(n-1))
			total += float64(cut[j]) * float64(k.items[j].most)
		}
		if tight && total > float64(n*(n-1)) {
			columns, k.room = append(columns, cut), append(k.room, n*(n-1))
		}
	}
	return columns
}

// tighter is by how much more a pod has to take of a cut than of its resource.
const tighter = 1.05

// ceiling returns what no content is worth more than by the prices of the rows, pods
// divided, and the operations that it took to find out. It is as low as it can be, or
// below enough.
func (k *kind) ceiling(prices []float64, enough float64) (float64, int) {
	for j := range k.items {
		it := &k.items[j]
		k.values[j] = prices[it.class]
		for _, r := range it.also {
			k.values[j] += prices[r]
		}
	}
	operations := k.packing.Stale(k.values)
	if k.packing.Value >= enough {
		operations += k.packing.Solve(k.values)
	}
	return k.packing.Value, operations
}

// cost returns what a machine costs and takes of limits, and what it is worth with
// nothing on it.
func (k *kind) cost(prices []float64) (cost, earned float64) {
	cost = k.price
	for _, e := range k.fixed {
		if e.N < 0 {
			cost -= float64(e.N * prices[e.Row])
		} else {
			earned += float64(e.N * prices[e.Row])
		}
	}
	return cost, earned
}

// column states a content in the terms of the program.
func (k *kind) column(content func(item int) float64) lp.Column {
	out := lp.Column{Cost: max(1, k.price), Entries: slices.Clone(k.fixed)}
	also := map[int]float64{}
	for j := range k.items {
		n := content(j)
		if n == 0 {
			continue
		}
		out.Entries = append(out.Entries, lp.Entry{Row: k.items[j].class, N: n})
		for _, r := range k.items[j].also {
			also[r] += n
		}
	}
	for _, r := range sortedKeys(also) {
		out.Entries = append(out.Entries, lp.Entry{Row: r, N: also[r]})
	}
	return out
}
