package pack

import "slices"

// Machines are in one zone each, and so are pods once they are spread over zones.
// Then what is bought in a zone does not matter to the others: each region of the
// market is a problem of its own, and regions that are alike have one solution.
// Pods that may be in any zone make it one region, and so does a limit that binds.

// regions splits the lots so that no column may be bought for lots of two of them, nor
// two columns that count against the same limit.
func (s *solver) regions(lots []*lot, tier []*seller, b budget) [][]*lot {
	masks := disjoint(lots)
	for _, p := range tier {
		if b[p.index] != nil {
			masks = joined(masks, p.mask)
		}
	}
	out := make([][]*lot, len(masks))
	for _, l := range lots {
		if i := slices.IndexFunc(masks, l.opt.columns.meets); i >= 0 {
			out[i] = append(out[i], l)
		}
	}
	return out
}

// disjoint joins the sets of columns that the lots' requirements allow where they
// meet.
func disjoint(lots []*lot) []bitset {
	var out []bitset
	seen := map[int]bool{}
	for _, l := range lots {
		if seen[l.opt.id] {
			continue
		}
		seen[l.opt.id] = true
		out = joined(out, l.opt.columns)
	}
	return out
}

// joined adds a set to disjoint ones and joins it with those that it meets.
func joined(sets []bitset, set bitset) []bitset {
	set = set.clone()
	sets = slices.DeleteFunc(sets, func(other bitset) bool {
		meets := other.meets(set)
		if meets {
			set.join(other)
		}
		return meets
	})
	return append(sets, set)
}

// follow buys what another cover has bought, where the problems are alike, and
// reports whether they are and limits allow it.
func (c *cover) follow(o *cover) bool {
	if !c.alike(o) {
		return false
	}
	twins := map[*machine]*machine{}
	bought := make([]*machine, len(o.bought))
	for i, m := range o.bought {
		if twins[m] == nil {
			if twins[m] = c.twinOf(m, o); twins[m] == nil {
				return false
			}
		}
		bought[i] = twins[m]
	}
	left := c.budget.clone()
	for _, m := range bought {
		left.spend(&c.s.columns[m.column], 1)
	}
	if !left.kept() {
		return false
	}
	c.bought, c.cost, c.budget = bought, o.cost, left
	return true
}

// twinOf returns a machine like the other cover's of a column that is like it; nil
// where there is none.
func (c *cover) twinOf(m *machine, o *cover) *machine {
	j := slices.Index(o.columns, m.column)
	if j < 0 {
		return nil
	}
	out := c.s.newMachine(c.columns[j])
	out.ahead = m.ahead
	for _, it := range m.items {
		l := c.lots[it.lot.index]
		n, residual := c.s.admit(out, l, it.n)
		if n < it.n {
			return nil
		}
		out.add(l, n, residual)
	}
	return out
}

// alike reports whether the covers have the same to buy, of columns that differ in
// nothing that matters.
func (c *cover) alike(o *cover) bool {
	if len(c.lots) != len(o.lots) || len(c.columns) != len(o.columns) {
		return false
	}
	for j, k := range c.columns {
		if x, y := &c.s.columns[k], &c.s.columns[o.columns[j]]; x.shape != y.shape || x.price != y.price {
			return false
		}
	}
	for i, l := range c.lots {
		if !l.alike(o.lots[i]) {
			return false
		}
		for j, k := range c.columns {
			if l.mask.has(k) != o.lots[i].mask.has(o.columns[j]) {
				return false
			}
		}
	}
	return true
}

// alike reports whether the lots are the same apart from the columns that they allow.
func (l *lot) alike(o *lot) bool {
	return l.n == o.n && l.growing() == o.growing() && l.priority() == o.priority() && slices.Equal(l.need, o.need) && slices.Equal(l.host, o.host) && slices.Equal(l.opt.residual, o.opt.residual)
}
