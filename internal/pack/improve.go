package pack

import (
	"cmp"
	"slices"
)

// dissolveAtMost bounds how many machines are looked at for emptying them.
const dissolveAtMost = 64

// improve repairs the tail of a cover: machines whose pods fit into what others
// have left are given back, pairs that one cheaper machine can hold are merged.
func (c *cover) improve() {
	for range 4 {
		if !c.dissolve() && !c.merge() {
			return
		}
	}
}

// leastUsed lists the machines with the most room left, that first.
func (c *cover) leastUsed() []int {
	fill := make([]float64, len(c.bought))
	order := make([]int, len(c.bought))
	for i, m := range c.bought {
		order[i] = i
		room := c.s.columns[m.column].room
		for r, v := range m.used {
			if room[r] > 0 {
				fill[i] = max(fill[i], float64(v)/float64(room[r]))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fill[a], fill[b]) })
	return order[:min(len(order), dissolveAtMost)]
}

// dissolve gives back one machine whose pods all fit elsewhere.
func (c *cover) dissolve() bool {
	for _, i := range c.leastUsed() {
		moved := map[int]*machine{}
		if !c.rehome(i, moved) {
			continue
		}
		for j, m := range moved {
			c.bought[j] = m
		}
		c.drop(i)
		return true
	}
	return false
}

// rehome finds room for the content of machine i on the others, which it copies.
func (c *cover) rehome(i int, moved map[int]*machine) bool {
	for _, it := range c.bought[i].items {
		left := it.n
		for j, m := range c.bought {
			if left == 0 {
				break
			}
			if j == i {
				continue
			}
			if changed, ok := moved[j]; ok {
				m = changed
			}
			k, residual := c.s.admit(m, it.lot, left)
			if k == 0 {
				continue
			}
			if moved[j] == nil {
				m = m.clone()
				moved[j] = m
			}
			m.add(it.lot, k, residual)
			left -= k
		}
		if left > 0 {
			return false
		}
	}
	return true
}

func (c *cover) drop(i int) {
	col := &c.s.columns[c.bought[i].column]
	c.budget.spend(col, -1)
	c.cost -= col.price + int64(c.s.problem.NodeCost)
	c.bought = slices.Delete(c.bought, i, i+1)
}

// merge replaces one pair of machines by a single one that costs less, or as
// much: then there is one machine fewer.
func (c *cover) merge() bool {
	order := c.leastUsed()
	for a := range order {
		for _, j := range order[a+1:] {
			i := order[a]
			m, ok := c.union(c.bought[i], c.bought[j])
			if !ok {
				continue
			}
			c.drop(max(i, j))
			c.drop(min(i, j))
			col := &c.s.columns[m.column]
			c.budget.spend(col, 1)
			c.cost += col.price + int64(c.s.problem.NodeCost)
			c.bought = append(c.bought, m)
			return true
		}
	}
	return false
}

// union returns the cheapest machine that holds the content of both for at most
// their price.
func (c *cover) union(a, b *machine) (*machine, bool) {
	if a.seller != b.seller || !a.mask.meets(b.mask) {
		return nil, false
	}
	most := c.s.columns[a.column].price + c.s.columns[b.column].price + int64(c.s.problem.NodeCost)
	for k := a.seller.columns[0]; k < a.seller.columns[1] && c.s.columns[k].price <= most; k++ {
		col := &c.s.columns[k]
		if !a.mask.has(k) || !b.mask.has(k) || c.budget.affords(col, 1) == 0 || !sumFits(a.used, b.used, col.room) {
			continue
		}
		m := c.s.newMachine(k)
		if c.moveAll(m, a) && c.moveAll(m, b) {
			return m, true
		}
	}
	return nil, false
}

func sumFits(a, b, room []int64) bool {
	for r := range a {
		if sum := a[r] + b[r]; sum > 0 && sum > room[r] {
			return false
		}
	}
	return true
}

func (c *cover) moveAll(to, from *machine) bool {
	for _, it := range from.items {
		k, residual := c.s.admit(to, it.lot, it.n)
		if k < it.n {
			return false
		}
		to.add(it.lot, it.n, residual)
	}
	return true
}
