package pack

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// spot is a combination of topology domains that a class may be placed in: by
// nodes that are there, by machines that can be bought, or both.
type spot struct {
	keys   []string // sorted
	values []string
	known  []bool // false where nodes lack the key
	nodes  []int
	next   int // nodes before it have no more room for the class
	lot    *lot
	price  int64
}

// placeByDomain places the pods of a class that domains matter to, one at a time,
// each in the domain that evens out its spreads, then where there is room
// already, then where it is cheapest.
func (s *solver) placeByDomain(c *class, o *options, level int) []*lot {
	spots := s.spotsFor(c, o, level)
	_, dropped := c.alternative(level)
	for c.open() > 0 {
		best := s.bestSpot(c, spots, dropped)
		if best < 0 {
			break
		}
		at := &spots[best]
		if i, ok := s.nodeIn(c, o, at); ok {
			s.put(c, s.nodes[i], level, 1)
			s.enter(c, at, o.requires, 1, s.nodes[i])
			continue
		}
		if at.lot == nil {
			spots = slices.Delete(spots, best, best+1)
			continue
		}
		at.lot.n++
		c.booked++
		s.enter(c, at, at.lot.opt.requires, 1, nil)
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
func (s *solver) nodeIn(c *class, o *options, at *spot) (int, bool) {
	for ; at.next < len(at.nodes); at.next++ {
		if s.roomOn(c, o, at.nodes[at.next], 1) > 0 {
			return at.nodes[at.next], true
		}
	}
	return 0, false
}

// bestSpot returns the spot for the next pod, or -1.
func (s *solver) bestSpot(c *class, spots []spot, dropped int) int {
	best, bestCount, bestRank := -1, int64(0), int64(0)
	for i := range spots {
		at := &spots[i]
		count, ok := s.admits(c, at, dropped)
		if !ok {
			continue
		}
		rank := at.price
		if at.next < len(at.nodes) {
			rank = -1
		}
		if best < 0 || cmp.Or(cmp.Compare(count, bestCount), cmp.Compare(rank, bestRank)) < 0 {
			best, bestCount, bestRank = i, count, rank
		}
	}
	return best
}

// admits reports whether another pod of the class may enter the spot, and how
// many pods the class's spreads count there.
func (s *solver) admits(c *class, at *spot, dropped int) (int64, bool) {
	counted := int64(0)
	for i := range c.spreads {
		sp := &c.spreads[i]
		if sp.drop >= 0 && sp.drop < dropped {
			continue
		}
		g := s.groups.list[sp.group]
		value, ok := at.value(g.key)
		if !ok || g.count[value]+sp.self-s.fewest(c, sp) > sp.maxSkew {
			return 0, false
		}
		counted += g.count[value]
	}
	for _, b := range c.attracts {
		g := s.groups.list[b.group]
		value, ok := at.value(g.key)
		first := g.total == 0 && b.self
		if b.drop >= 0 && (b.drop < dropped || g.total == 0) {
			continue
		}
		if !ok || g.count[value] == 0 && !first {
			return 0, false
		}
	}
	for _, b := range c.repels {
		g := s.groups.list[b.group]
		if b.drop >= 0 && b.drop < dropped {
			continue
		}
		if value, ok := at.value(g.key); ok && g.count[value] > 0 {
			return 0, false
		}
	}
	for _, id := range c.member {
		g := s.groups.list[id]
		if value, ok := at.value(g.key); ok && g.repel[value] > 0 {
			return 0, false
		}
	}
	return counted, true
}

func (at *spot) value(key string) (string, bool) {
	i, ok := slices.BinarySearch(at.keys, key)
	if !ok {
		return "", false
	}
	return at.values[i], at.known[i]
}

// fewest returns the smallest count of a spread's domains, 0 while there are
// fewer domains than it wants.
func (s *solver) fewest(c *class, sp *spread) int64 {
	g := s.groups.list[sp.group]
	domains := s.domains(c, sp)
	if len(domains) < sp.minDomains {
		return 0
	}
	least := int64(math.MaxInt64)
	for _, d := range domains {
		least = min(least, g.count[d])
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// domains lists the values of a spread's key that count: those of nodes, and
// those in which the class's required places could be bought.
func (s *solver) domains(c *class, sp *spread) []string {
	if sp.domains != nil {
		return sp.domains
	}
	g := s.groups.list[sp.group]
	seen := map[string]bool{}
	for _, n := range s.nodes {
		if value, ok := n.Labels[g.key]; ok && g.counts(n) {
			seen[value] = true
		}
	}
	for _, place := range c.places {
		o := s.optionsFor(place, c.template.Tolerations, c.tolerates, false)
		for _, at := range s.cellsOf(o, []string{g.key}) {
			seen[at.values[0]] = true
		}
	}
	sp.domains = sortedKeys(seen)
	return sp.domains
}

// enter counts pods of the class in a spot.
func (s *solver) enter(c *class, at *spot, requires match.Requirements, k int64, n *node) {
	for _, id := range c.member {
		g := s.groups.list[id]
		g.total += k
		if value, ok := at.value(g.key); ok && (n != nil && g.counts(n) || n == nil && g.countsPlan(requires)) {
			g.count[value] += k
		}
	}
	for _, b := range c.repels {
		if b.drop < 0 {
			g := s.groups.list[b.group]
			if value, ok := at.value(g.key); ok {
				g.repel[value] += k
			}
		}
	}
}

// leave takes back what was counted for pods of a lot that could not be bought for.
func (s *solver) leave(l *lot, k int64) {
	if l.at == nil {
		return
	}
	for _, p := range l.parts {
		s.enter(p.class, l.at, l.opt.requires, -k*p.n, nil)
	}
}

// spotsFor lists where the class may go at a level, sorted by domain.
func (s *solver) spotsFor(c *class, o *options, level int) []spot {
	byValues := map[string]int{}
	var out []spot
	at := func(values []string, known []bool) *spot {
		key := strings.Join(values, "\x00")
		var keySb217 strings.Builder
		for _, k := range known {
			if !k {
				keySb217.WriteString("\x01")
			}
		}
		key += keySb217.String()
		i, ok := byValues[key]
		if !ok {
			i = len(out)
			byValues[key] = i
			out = append(out, spot{keys: c.keys, values: values, known: known, price: math.MaxInt64})
		}
		return &out[i]
	}
	for i, n := range s.nodes {
		if !s.matches(o, i) {
			continue
		}
		values, known := make([]string, len(c.keys)), make([]bool, len(c.keys))
		for k, key := range c.keys {
			values[k], known[k] = n.Labels[key]
		}
		to := at(values, known)
		to.nodes = append(to.nodes, i)
	}
	everyKey := make([]bool, len(c.keys))
	for i := range everyKey {
		everyKey[i] = true
	}
	cells := s.cellsOf(o, c.keys)
	for i := range cells {
		pinned := s.optionsFor(cells[i].requires, c.template.Tolerations, c.tolerates, o.honour)
		if l, ok := s.lotFor(c, level, pinned); ok {
			to := at(cells[i].values, everyKey)
			to.lot, to.price = l, s.cheapest(l.mask)
			l.at = &spot{keys: c.keys, values: cells[i].values, known: everyKey}
		}
	}
	slices.SortStableFunc(out, func(a, b spot) int { return slices.Compare(a.values, b.values) })
	return out
}

func (s *solver) cheapest(mask bitset) int64 {
	best := int64(math.MaxInt64)
	for k := range mask.all {
		best = min(best, s.columns[k].price)
	}
	return best
}
