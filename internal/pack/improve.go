package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// maxRepairs bounds how many single steps are made to repair a cover.
const maxRepairs = 64

// How many machines are looked at for emptying them, and for merging and moving
// loads between pairs of them.
const (
	dissolveAtMost = 64
	relocateAtMost = 16
)

// improve repairs the tail of a cover: machines whose pods fit into what others
// have left are given back, pairs that one cheaper machine can hold are merged.
func (c *cover) improve() {
	for range maxRepairs {
		if !c.s.uses(Repair) || !c.dissolve() && !c.merge() && !c.relocate() {
			return
		}
	}
}

// fullEnough is the use of a resource from which on there is little to gain.
const fullEnough = 0.97

// leastUsed lists the machines with the most room left, that first, at most limit.
func (c *cover) leastUsed(limit int) []int {
	fill := make([]float64, len(c.bought))
	order := make([]int, len(c.bought))
	for i, m := range c.bought {
		order[i] = i
		room := c.s.Offerings[m.column].Room
		for r, v := range m.used {
			if room[r] > 0 {
				fill[i] = max(fill[i], float64(v)/float64(room[r]))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fill[a], fill[b]) })
	if len(order) > limit {
		order = slices.DeleteFunc(order, func(i int) bool { return fill[i] > fullEnough })
	}
	return order[:min(len(order), limit)]
}

// dissolve gives back one machine whose pods all fit elsewhere.
func (c *cover) dissolve() bool {
	for _, i := range c.leastUsed(dissolveAtMost) {
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
	c.budget.spend(&c.s.Offerings[c.bought[i].column], -1)
	c.cost -= c.costOf(c.bought[i])
	c.bought = slices.Delete(c.bought, i, i+1)
}

// merge replaces one pair of machines by a single one that costs less, or as
// much: then there is one machine fewer.
func (c *cover) merge() bool {
	order := c.leastUsed(relocateAtMost)
	for a := range order {
		for _, j := range order[a+1:] {
			i := order[a]
			m, ok := c.union(c.bought[i], c.bought[j])
			if !ok {
				continue
			}
			c.drop(max(i, j))
			c.drop(min(i, j))
			c.budget.spend(&c.s.Offerings[m.column], 1)
			c.cost += c.costOf(m)
			c.bought = append(c.bought, m)
			return true
		}
	}
	return false
}

// union returns the cheapest machine that holds the content of both for at most
// their price.
func (c *cover) union(a, b *machine) (*machine, bool) {
	if a.seller != b.seller || !a.mask.Meets(b.mask) {
		return nil, false
	}
	need, mask := slices.Clone(a.used), a.mask.Clone()
	model.AddTimes(need, b.used, 1)
	mask.Keep(b.mask)
	return c.cheapestFor(a.seller, need, mask, slices.Concat(a.items, b.items), c.costOf(a)+c.costOf(b)-c.nodeCost())
}

func (c *cover) nodeCost() int64 { return int64(c.s.problem.NodeCost) + c.perNode }

// costOf is the price of a machine with the cost of having it.
func (c *cover) costOf(m *machine) int64 { return c.s.Offerings[m.column].Price + c.nodeCost() }

// cheapestFor returns the seller's cheapest machine of the mask that holds the
// items, which need so much together, at a price of at most the given one.
func (c *cover) cheapestFor(p *model.Pool, need []int64, mask model.Bitset, items []item, most int64) (*machine, bool) {
	for _, k := range c.columns {
		col := &c.s.Offerings[k]
		if col.Pool != p.Number || col.Price > most {
			continue
		}
		if !mask.Has(k) || !model.Fits(need, col.Room) || c.budget.affords(col, 1) == 0 {
			continue
		}
		m := c.machineOf(k)
		if c.moveAll(m, items) {
			return m, true
		}
		c.empty = m
	}
	return nil, false
}

func (c *cover) moveAll(to *machine, items []item) bool {
	for _, it := range items {
		k, residual := c.s.admit(to, it.lot, it.n)
		if k < it.n {
			return false
		}
		to.add(it.lot, it.n, residual)
	}
	return true
}

// relocate moves loads from one machine to another where both together become
// cheaper: the one shrinks by more than the other grows.
func (c *cover) relocate() bool {
	order := c.leastUsed(relocateAtMost)
	for _, i := range order {
		for _, j := range order {
			if i == j || c.bought[i].seller != c.bought[j].seller {
				continue
			}
			for k, it := range c.bought[i].items {
				if c.shift(i, j, k, it.n) || it.n > 1 && c.shift(i, j, k, 1) {
					return true
				}
			}
		}
	}
	return false
}

// shift moves n loads of one item of machine i to machine j, if that is cheaper.
func (c *cover) shift(i, j, k int, n int64) bool {
	a, b := c.bought[i], c.bought[j]
	lot, most := a.items[k].lot, c.costOf(a)+c.costOf(b)-1
	if len(a.items) == 1 && a.items[k].n == n || c.leastWithout(a, lot, n)+c.leastWith(b, lot, n) > most {
		return false // the first is merging
	}
	rest := slices.Clone(a.items)
	if rest[k].n -= n; rest[k].n == 0 {
		rest = slices.Delete(rest, k, k+1)
	}
	need, mask := slices.Clone(b.used), b.mask.Clone()
	model.AddTimes(need, lot.need, n)
	mask.Keep(lot.mask)
	more, ok := c.cheapestFor(b.seller, need, mask, append(slices.Clone(b.items), item{lot, n}), most)
	if !ok {
		return false
	}
	need = slices.Clone(a.used)
	model.AddTimes(need, lot.need, -n)
	mask = rest[0].lot.mask.Clone()
	for _, it := range rest[1:] {
		mask.Keep(it.lot.mask)
	}
	less, ok := c.cheapestFor(a.seller, need, mask, rest, most-c.costOf(more))
	if !ok || c.costOf(less)+c.costOf(more) > most {
		return false
	}
	for _, m := range []*machine{a, b} {
		c.budget.spend(&c.s.Offerings[m.column], -1)
	}
	for _, m := range []*machine{less, more} {
		c.budget.spend(&c.s.Offerings[m.column], 1)
	}
	c.cost += c.costOf(less) + c.costOf(more) - c.costOf(a) - c.costOf(b)
	c.bought[i], c.bought[j] = less, more
	return true
}

// leastWith returns what a machine costs at least that has room for the content of
// another and n loads of a lot.
func (c *cover) leastWith(m *machine, l *lot, n int64) int64 {
	for r, v := range m.used {
		c.spare[r] = v + n*l.need[r]
	}
	return c.leastFor(m.seller, c.spare, func(k int) bool { return m.mask.Has(k) && l.mask.Has(k) })
}

// leastWithout is leastWith where the loads have left the machine.
func (c *cover) leastWithout(m *machine, l *lot, n int64) int64 {
	for r, v := range m.used {
		c.spare[r] = v - n*l.need[r]
	}
	return c.leastFor(m.seller, c.spare, m.seller.Mask.Has)
}

// leastFor returns what the seller's cheapest machine costs that has so much room, of
// the candidates that are allowed.
func (c *cover) leastFor(p *model.Pool, need []int64, allowed func(int) bool) int64 {
	for _, k := range c.columns { // of each seller cheapest first
		col := &c.s.Offerings[k]
		if col.Pool == p.Number && model.Fits(need, col.Room) && allowed(k) {
			return col.Price + c.nodeCost()
		}
	}
	return model.Plenty
}
