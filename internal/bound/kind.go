package bound

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/knapsack"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/lp"
)

// kind is what a pattern fills: a machine that can be bought, or a node.
type kind struct {
	price float64    // 0 for a node
	node  int        // the row of nodes like it, or -1
	count float64    // how many of them there are
	fixed []lp.Entry // what each machine has in rows, whatever is on it
	takes []lp.Entry // the same in rows of limits and nodes
	items []item
	holds *knapsack.Knapsack

	values []float64 // of the items, by the prices that were looked at last
}

// item is a class that may be on a machine.
type item struct {
	class int
	most  int64
	also  []lp.Entry // what each of its pods has in rows besides that of its class
}

// newKind returns the kind with the items of which at least one fits. The last
// argument is how many pods of each of the problem's groups it holds: each group is a resource of
// which its pods need one.
func newKind(p *Problem, room []int64, items []item, groups []int64) *kind {
	k := &kind{node: -1}
	var held []knapsack.Item
	room = slices.Concat(room, groups)
	for _, it := range items {
		c := &p.Classes[it.class]
		need := slices.Concat(c.Need, make([]int64, len(groups)))
		for g := range groups {
			if slices.Contains(p.Groups[g].Classes, it.class) {
				need[len(c.Need)+g] = 1
			}
		}
		if it.most = amount.Copies(need, room, min(it.most, c.Count)); it.most > 0 {
			k.items, held = append(k.items, it), append(held, knapsack.Item{Need: need, Most: it.most})
		}
	}
	k.holds, k.values = knapsack.New(room, held), make([]float64, len(k.items))
	return k
}

// divided states the kind for the program over divided pods, with so many of its rows.
func (k *kind) divided(rows int) lp.DividedKind {
	out := lp.DividedKind{Cost: k.price, Count: k.count, Fixed: slices.Concat(k.fixed, k.takes), Rows: rows}
	for j, it := range k.items {
		out.Items = append(out.Items, lp.DividedItem{Rows: append([]lp.Entry{{Row: it.class, N: 1}}, it.also...), Most: float64(it.most)})
		out.Share = append(out.Share, k.holds.Shares(j)[:rows]...)
	}
	return out
}

// ceiling returns what no content is worth more than by the prices of the rows, pods
// divided, and the operations that it took to find out. It is as low as it can be, or
// below enough.
func (k *kind) ceiling(prices []float64, enough float64) (float64, int) {
	for j := range k.items {
		it := &k.items[j]
		k.values[j] = prices[it.class]
		for _, e := range it.also {
			k.values[j] += float64(e.N * prices[e.Row])
		}
	}
	return k.holds.Ceiling(k.values, enough)
}

// cost returns what a machine costs and takes of limits, and what it is worth with
// nothing on it.
func (k *kind) cost(prices []float64) (cost, earned float64) {
	cost = k.price
	for _, e := range k.takes {
		cost -= float64(e.N * prices[e.Row])
	}
	for _, e := range k.fixed {
		earned += float64(e.N * prices[e.Row])
	}
	return cost, earned
}

// column states a content in the terms of the program.
func (k *kind) column(content func(item int) float64) lp.Column {
	out := lp.Column{Cost: max(1, k.price), Entries: slices.Concat(k.fixed, k.takes)}
	also := map[int]float64{}
	for j := range k.items {
		n := content(j)
		if n == 0 {
			continue
		}
		out.Entries = append(out.Entries, lp.Entry{Row: k.items[j].class, N: n})
		for _, e := range k.items[j].also {
			also[e.Row] += float64(n * e.N)
		}
	}
	for _, r := range sortedKeys(also) {
		out.Entries = append(out.Entries, lp.Entry{Row: r, N: also[r]})
	}
	return out
}
