package place

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// waterFill places pods of a class with one spread as placing them one by one would: each
// goes where the fewest are, so that the domain choices fill up to a level, like water. It does
// nothing where the order of the pods matters to more than that.
func (pl *Placer) waterFill(c *assign.Class, choices []domainChoice, relaxed topology.Relaxed) {
	open, most, ok := pl.waterFillDomains(c, choices, relaxed)
	if !ok || len(open) == 0 {
		return
	}
	left := c.Open()
	level, last := open[0].count, 1 // so many are at the level
	for ; last < len(open) && (open[last].count-level)*int64(last) <= left && open[last].count <= most; last++ {
		left -= (open[last].count - level) * int64(last)
		level = open[last].count
	}
	more := min(left/int64(last), max(0, most-level))
	left -= more * int64(last)
	level += more
	sort := func(a, b domainChoiceCount) int {
		return cmp.Or(a.compare(b.domainChoice), cmp.Compare(a.index, b.index))
	}
	slices.SortFunc(open[:last], sort)
	for _, at := range open[:last] {
		n := level - at.count
		if left > 0 && level < most {
			n, left = n+1, left-1
		}
		if n > 0 {
			at.group.N += n
			c.Booked += n
			pl.State.Enter(c.Rules, &at.DomainAssignment, at.group.Opt.Requires, n)
		}
	}
}

// domainChoiceCount is a domain choice with how many pods the spread counts there.
type domainChoiceCount struct {
	*domainChoice
	index int
	count int64
}

// waterFillDomains lists the domain choices that pods of the class are to be bought for in, those with the
// fewest pods first, and how many the spread allows in each.
func (pl *Placer) waterFillDomains(c *assign.Class, choices []domainChoice, relaxed topology.Relaxed) (open []domainChoiceCount, most int64, ok bool) {
	sp, ok := c.OnlySpread(relaxed)
	if !ok {
		return nil, 0, false
	}
	domains := pl.State.Domains(c.Rules, sp)
	outside := make(map[string]bool, len(domains))
	for _, d := range domains {
		outside[d] = true
	}
	for i := range choices {
		at := &choices[i]
		value, known := at.Value(pl.State.List[sp.Group()].Key)
		if at.next < len(at.nodes) || !known || !outside[value] || at.group != nil && !pl.State.Counted(sp, at.group.Opt.Requires, &at.DomainAssignment) {
			return nil, 0, false
		}
		if at.group != nil && !pl.State.Repelled(c.Rules, &at.DomainAssignment) {
			delete(outside, value)
			open = append(open, domainChoiceCount{at, i, pl.State.CountIn(sp, value)})
		}
	}
	most = math.MaxInt64
	if len(domains) < sp.MinDomains {
		most = sp.MaxSkew
	}
	for value := range outside {
		most = min(most, pl.State.CountIn(sp, value)+sp.MaxSkew)
	}
	slices.SortFunc(open, func(a, b domainChoiceCount) int { return cmp.Compare(a.count, b.count) })
	return open, most, true
}
