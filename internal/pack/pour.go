package pack

import (
	"cmp"
	"math"
	"slices"
)

// pour places pods of a class with one spread as placing them one by one would: each
// goes where the fewest are, so that the spots fill up to a level, like water. It does
// nothing where the order of the pods matters to more than that.
func (s *solver) pour(c *class, spots []spot, dropped dropSet) {
	open, most, ok := s.basin(c, spots, dropped)
	if !ok || len(open) == 0 {
		return
	}
	left := c.open()
	level, last := open[0].count, 1 // so many are at the level
	for ; last < len(open) && (open[last].count-level)*int64(last) <= left && open[last].count <= most; last++ {
		left -= (open[last].count - level) * int64(last)
		level = open[last].count
	}
	more := min(left/int64(last), max(0, most-level))
	left -= more * int64(last)
	level += more
	sort := func(a, b spotCount) int { return cmp.Or(a.compare(b.spot), cmp.Compare(a.index, b.index)) }
	slices.SortFunc(open[:last], sort)
	for _, at := range open[:last] {
		n := level - at.count
		if left > 0 && level < most {
			n, left = n+1, left-1
		}
		if n > 0 {
			at.lot.n += n
			c.booked += n
			s.enter(c, at.spot, at.lot.opt.Requires, n, nil)
		}
	}
}

// spotCount is a spot with how many pods the spread counts there.
type spotCount struct {
	*spot
	index int
	count int64
}

// basin lists the spots that pods of the class are to be bought for in, those with the
// fewest pods first, and how many the spread allows in each.
func (s *solver) basin(c *class, spots []spot, dropped dropSet) (open []spotCount, most int64, ok bool) {
	sp, ok := c.onlySpread(dropped)
	if !ok {
		return nil, 0, false
	}
	g := s.groups.list[sp.group]
	domains := s.domains(c, sp)
	outside := setOf(domains)
	for i := range spots {
		at := &spots[i]
		value, known := at.value(g.key)
		if at.next < len(at.nodes) || !known || !outside[value] || at.lot != nil && !g.countsPlan(at.lot.opt.Requires, at) {
			return nil, 0, false
		}
		if at.lot != nil && !s.repelled(c, at) {
			delete(outside, value)
			open = append(open, spotCount{at, i, g.count[value]})
		}
	}
	most = math.MaxInt64
	if len(domains) < sp.minDomains {
		most = sp.maxSkew
	}
	for value := range outside {
		most = min(most, g.count[value]+sp.maxSkew)
	}
	slices.SortFunc(open, func(a, b spotCount) int { return cmp.Compare(a.count, b.count) })
	return open, most, true
}

// onlySpread returns the spread of a class that counts its own pods over the only key
// that matters to it, and false where there are other rules.
func (c *class) onlySpread(dropped dropSet) (*spread, bool) {
	if len(c.keys) != 1 || len(c.attracts)+len(c.repels) > 0 {
		return nil, false
	}
	var only *spread
	for i := range c.spreads {
		if sp := &c.spreads[i]; !c.gaveUp(dropped, sp.drop) {
			if only != nil {
				return nil, false
			}
			only = sp
		}
	}
	return only, only != nil && only.self > 0
}

// repelled reports whether pods in the spot keep those of the class away.
func (s *solver) repelled(c *class, at *spot) bool {
	return slices.ContainsFunc(c.member, func(id int) bool {
		g := s.groups.list[id]
		value, ok := at.value(g.key)
		return ok && g.repel[value] > 0
	})
}
