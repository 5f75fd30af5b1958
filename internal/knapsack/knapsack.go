// Package knapsack finds what one machine can hold that is worth most: a number of each of
// several items, which need some of several resources. Column generation asks this for the
// contents of a machine that its program is missing (see bound and colgen), each time at
// other values of the items.
package knapsack

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// Item is what a machine may hold.
type Item struct {
	Need []int64 // of each resource
	Most int64   // of them on one machine; at least one fits
}

// Knapsack is one machine and the items that it may hold.
type Knapsack struct {
	// Rows are the resources that items can run short of, and then cuts, see cut. There are
	// Plain of the former.
	Rows, Plain int

	most    []int64   // of each item
	need    []int64   // of each row, item by item
	room    []int64   // of each row
	share   []float64 // of the room, item by item
	packing *lp.Packing
	values  []float64 // of the items, for which the ceiling was asked last
}

// New returns the knapsack of a machine with so much of each resource.
func New(room []int64, items []Item) *Knapsack {
	k := &Knapsack{most: make([]int64, len(items))}
	most := make([]float64, len(items))
	for j, it := range items {
		k.most[j] = amount.Copies(it.Need, room, it.Most)
		most[j] = float64(k.most[j])
	}
	var rows [][]int64 // what each item needs
	for r, v := range room {
		need := make([]int64, len(items))
		for j, it := range items {
			need[j] = it.Need[r]
		}
		rows = k.restrict(rows, need, v)
	}
	k.Plain = len(rows)
	for r := range k.Plain {
		rows = k.cut(rows, rows[r], k.room[r])
	}
	k.Rows = len(rows)
	k.need, k.share = make([]int64, 0, len(items)*k.Rows), make([]float64, 0, len(items)*k.Rows)
	for j := range items {
		for r, need := range rows {
			k.need = append(k.need, need[j])
			k.share = append(k.share, float64(need[j])/float64(k.room[r]))
		}
	}
	k.packing = lp.NewPacking(k.Rows, k.share, most)
	return k
}

// restrict adds a row, unless all items together do not need as much as there is. Items
// cannot use less than a multiple of what divides all needs.
func (k *Knapsack) restrict(rows [][]int64, need []int64, room int64) [][]int64 {
	total, grain := 0.0, int64(0)
	for j, v := range need {
		total += float64(float64(v) * float64(k.most[j]))
		grain = amount.GCD(v, grain)
	}
	if total <= float64(room) || grain == 0 {
		return rows
	}
	k.room = append(k.room, room-room%grain)
	return append(rows, need)
}

const (
	// mostCuts rows are added for each resource.
	mostCuts = 4
	// tighter is by how much more an item has to take of a cut than of its resource.
	tighter = 1.05
)

// cut adds rows that whole items keep and parts of items may not: with n below, items that
// each need more than a n-th part of the room count as a whole (n-1)-th of it, rounded
// down, since no more of them fit (these are the dual feasible functions of Fekete and
// Schepers 2001). Two items that need more than a half do not fit, whatever they are.
func (k *Knapsack) cut(rows [][]int64, need []int64, room int64) [][]int64 {
	for n := int64(2); n < 2+mostCuts; n++ {
		cut, tight, total := make([]int64, len(need)), false, 0.0
		for j, v := range need {
			if cut[j] = v * n / room * n; v*n%room == 0 {
				cut[j] = v * n / room * (n - 1)
			}
			tight = tight || float64(cut[j])*float64(room) > tighter*float64(v)*float64(n*(n-1))
			total += float64(float64(cut[j]) * float64(k.most[j]))
		}
		if tight && total > float64(n*(n-1)) {
			rows, k.room = append(rows, cut), append(k.room, n*(n-1))
		}
	}
	return rows
}

// Shares returns what an item needs of the whole room, by row.
func (k *Knapsack) Shares(item int) []float64 { return k.share[item*k.Rows:][:k.Rows] }

// Ceiling returns what no content is worth more than if each item is worth so much, items
// divided, and about how many operations it took to find out. It is as low as it can be, or
// below enough. The values must not change before the search has used them.
func (k *Knapsack) Ceiling(values []float64, enough float64) (float64, int) {
	k.values = values
	operations := k.packing.Stale(values)
	if k.packing.Value >= enough {
		operations += k.packing.Solve(values)
	}
	return k.packing.Value, operations
}
