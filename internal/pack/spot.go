package pack

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// spot is a combination of topology domains that a class may be placed in: by
// nodes that are there, by machines that can be bought, or both.
type spot struct {
	topology.Assignment
	nodes   []int
	next    int // nodes before it have no more room for the class
	lot     *lot
	bargain bargain
}

// nothing comes after all that can be bought.
var nothing = bargain{math.MinInt32, math.MaxInt64}

// plainLast orders the classes so that pods which a spread counts, and to which domains
// do not matter themselves, come after all others of their priority: they could take
// the places of those that are spread.
func (s *placer) plainLast(open []*class) []*class {
	spread := map[int]bool{}
	for _, c := range open {
		for _, sp := range c.Spreads() {
			spread[sp.Group()] = true
		}
	}
	if len(spread) == 0 {
		return open
	}
	plain := func(c *class) bool {
		return !c.urgent && !c.Waits() && slices.ContainsFunc(c.Members, func(id int) bool { return spread[id] })
	}
	out := slices.Clone(open)
	slices.SortStableFunc(out, func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.Template.Priority, a.Template.Priority), cmpBool(plain(a), plain(b)))
	})
	return out
}

// placeByDomain places the pods of a class that domains matter to, one at a time,
// each in the domain that evens out its spreads, then where there is room
// already, then where it is cheapest.
func (s *placer) placeByDomain(c *class, o *model.Options, l level) []*lot {
	spots := s.spotsFor(c, o, l)
	if s.uses(WaterFilling) {
		s.pour(c, spots, l.relaxed)
	}
	for c.open() > 0 {
		best := s.bestSpot(c, spots, l.relaxed)
		if best < 0 {
			break
		}
		at := &spots[best]
		if i, ok := s.nodeIn(c, o, at); ok {
			s.put(c, s.nodes[i], l, 1)
			s.state.EnterNode(c.Rules, &at.Assignment, s.nodes[i].Node, 1)
			continue
		}
		if at.lot == nil {
			spots = slices.Delete(spots, best, best+1)
			continue
		}
		at.lot.n++
		c.booked++
		s.state.Enter(c.Rules, &at.Assignment, at.lot.opt.Requires, 1)
	}
	var out []*lot
	for _, at := range spots {
		if at.lot != nil && at.lot.n > 0 {
			out = append(out, at.lot)
		}
	}
	return out
}

// nodeIn returns a node of the spot with room for a pod of the class.
func (s *placer) nodeIn(c *class, o *model.Options, at *spot) (int, bool) {
	for ; at.next < len(at.nodes); at.next++ {
		if s.roomOn(c, o, at.nodes[at.next], 1) > 0 {
			return at.nodes[at.next], true
		}
	}
	return 0, false
}

// bestSpot returns the spot for the next pod, or -1.
func (s *placer) bestSpot(c *class, spots []spot, relaxed topology.Relaxed) int {
	best, bestCount := -1, int64(0)
	for i := range spots {
		at := &spots[i]
		at.Lent = nil
		if at.lot != nil && at.next >= len(at.nodes) {
			at.Lent = at.lot.lent
		}
		count, ok := s.admits(c, &at.Assignment, relaxed)
		if s.Effort.Over() {
			return -1
		}
		if ok && (best < 0 || cmp.Or(cmp.Compare(count, bestCount), at.compare(&spots[best])) < 0) {
			best, bestCount = i, count
		}
	}
	return best
}

// compare tells which spot a pod goes to first: where nodes may have room, and then
// where the best is sold.
func (at *spot) compare(o *spot) int {
	full := func(at *spot) bool { return at.next == len(at.nodes) }
	if c := cmpBool(full(at), full(o)); c != 0 || !full(at) {
		return c
	}
	return at.bargain.compare(o.bargain)
}

// spotsFor lists where the class may go at a level, sorted by domain.
func (s *placer) spotsFor(c *class, o *model.Options, level level) []spot {
	byDomains := map[string]int{}
	var out []spot
	at := func(domains []model.Domain) *spot {
		key := model.DomainsKey(domains)
		i, ok := byDomains[key]
		if !ok {
			i = len(out)
			byDomains[key] = i
			out = append(out, spot{Assignment: topology.Assignment{Keys: c.Keys, Domains: domains}, bargain: nothing})
		}
		return &out[i]
	}
	for i, n := range s.nodes {
		if s.Matches(o, i) {
			s.Effort.Spend(model.StepsToMatch * len(c.Keys))
			to := at(topology.AssignmentOf(c.Keys, n.Node).Domains)
			to.nodes = append(to.nodes, i)
		}
	}
	cells, left := s.CellsOf(o, c.Keys), s.budgets()
	for i := range cells {
		if s.Effort.Over() {
			return nil
		}
		l, ok := s.lotFor(c, level, s.PinnedTo(o, &cells[i]))
		if !ok {
			continue
		}
		best, ok := s.bargainOf(l.mask, left)
		if !ok {
			c.limited = true
			if !s.hasRoom(l) {
				continue
			}
			best = nothing
		}
		to := at(cells[i].Domains)
		to.lot, to.bargain = l, best
		l.at = &topology.Assignment{Keys: c.Keys, Domains: cells[i].Domains}
	}
	slices.SortStableFunc(out, func(a, b spot) int {
		return slices.CompareFunc(a.Domains, b.Domains, func(x, y model.Domain) int { return strings.Compare(x.Value, y.Value) })
	})
	return out
}

// hasRoom reports whether a planned machine has room for a load.
func (s *placer) hasRoom(l *lot) bool {
	return slices.ContainsFunc(s.machines, func(m *machine) bool { k, _ := s.admit(m, l, 1); return k > 0 })
}
