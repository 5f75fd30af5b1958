package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// pour places pods of a class with one spread as placing them one by one would: each
// goes where the fewest are, so that the spots fill up to a level, like water. It does
// nothing where the order of the pods matters to more than that.
func (s *placer) pour(c *class, spots []spot, relaxed topology.Relaxed) {
	open, most, ok := s.basin(c, spots, relaxed)
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
			s.state.Enter(c.Rules, &at.Assignment, at.lot.opt.Requires, n)
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
func (s *placer) basin(c *class, spots []spot, relaxed topology.Relaxed) (open []spotCount, most int64, ok bool) {
	sp, ok := c.OnlySpread(relaxed)
	if !ok {
		return nil, 0, false
	}
	domains := s.state.Domains(c.Rules, sp)
	outside := make(map[string]bool, len(domains))
	for _, d := range domains {
		outside[d] = true
	}
	for i := range spots {
		at := &spots[i]
		value, known := at.Value(s.state.List[sp.Group()].Key)
		if at.next < len(at.nodes) || !known || !outside[value] || at.lot != nil && !s.state.Counted(sp, at.lot.opt.Requires, &at.Assignment) {
			return nil, 0, false
		}
		if at.lot != nil && !s.state.Repelled(c.Rules, &at.Assignment) {
			delete(outside, value)
			open = append(open, spotCount{at, i, s.state.CountIn(sp, value)})
		}
	}
	most = math.MaxInt64
	if len(domains) < sp.MinDomains {
		most = sp.MaxSkew
	}
	for value := range outside {
		most = min(most, s.state.CountIn(sp, value)+sp.MaxSkew)
	}
	slices.SortFunc(open, func(a, b spotCount) int { return cmp.Compare(a.count, b.count) })
	return open, most, true
}
