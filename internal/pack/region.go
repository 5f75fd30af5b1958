package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Machines are in one zone each, and so are pods once they are spread over zones.
// Then what is bought in a zone does not matter to the others: each region of the
// market is a problem of its own, and regions that are alike have one solution.
// Pods that may be in any zone make it one region, and so does a limit that binds.

// regions splits the lots so that no column may be bought for lots of two of them, nor
// two columns that count against the same limit.
func (s *solver) regions(lots []*lot, tier []*model.Pool, b budget) [][]*lot {
	masks := disjoint(lots)
	for _, p := range tier {
		if b[p.Number] != nil {
			masks = joined(masks, p.Mask)
		}
	}
	out := make([][]*lot, len(masks))
	for _, l := range lots {
		if i := slices.IndexFunc(masks, l.opt.Offerings.Meets); i >= 0 {
			out[i] = append(out[i], l)
		}
	}
	return out
}

// disjoint joins the sets of columns that the lots' requirements allow where they
// meet.
func disjoint(lots []*lot) []model.Bitset {
	var out []model.Bitset
	seen := map[int]bool{}
	for _, l := range lots {
		if seen[l.opt.ID] {
			continue
		}
		seen[l.opt.ID] = true
		out = joined(out, l.opt.Offerings)
	}
	return out
}

// joined adds a set to disjoint ones and joins it with those that it meets.
func joined(sets []model.Bitset, set model.Bitset) []model.Bitset {
	set = set.Clone()
	sets = slices.DeleteFunc(sets, func(other model.Bitset) bool {
		meets := other.Meets(set)
		if meets {
			set.Join(other)
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
		left.spend(&c.s.Offerings[m.column], 1)
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
		if x, y := &c.s.Offerings[k], &c.s.Offerings[o.columns[j]]; x.Shape != y.Shape || x.Price != y.Price {
			return false
		}
	}
	for i, l := range c.lots {
		if !l.alike(o.lots[i]) {
			return false
		}
		for j, k := range c.columns {
			if l.mask.Has(k) != o.lots[i].mask.Has(o.columns[j]) {
				return false
			}
		}
	}
	return true
}

// alike reports whether the lots are the same apart from the columns that they allow.
func (l *lot) alike(o *lot) bool {
	return l.n == o.n && l.growing() == o.growing() && l.priority() == o.priority() && slices.Equal(l.need, o.need) && slices.Equal(l.host, o.host) && slices.Equal(l.opt.Residual, o.opt.Residual)
}
