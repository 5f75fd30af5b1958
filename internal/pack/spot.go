package pack

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// spot is a combination of topology domains that a class may be placed in: by
// nodes that are there, by machines that can be bought, or both.
type spot struct {
	keys    []string // sorted
	domains []model.Domain
	nodes   []int
	next    int // nodes before it have no more room for the class
	lot     *lot
	bargain bargain
}

// bargain is the best that may be bought of a set of columns.
type bargain struct {
	weight int32 // of the Provisioner
	price  int64
}

// nothing comes after all that can be bought.
var nothing = bargain{math.MinInt32, math.MaxInt64}

func (a bargain) compare(b bargain) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.price, b.price))
}

// bargainOf returns the best of the columns: of the Provisioners of the highest weight
// the cheapest, or false where limits allow none.
func (s *solver) bargainOf(mask model.Bitset, b budget) (bargain, bool) {
	best, ok := bargain{}, false
	for _, p := range s.Pools {
		for k := range mask.Within(p.Offerings) { // cheapest first
			if b.affords(&s.Offerings[k], 1) == 0 {
				continue
			}
			if this := (bargain{p.Weight, s.Offerings[k].Price}); !ok || this.compare(best) < 0 {
				best, ok = this, true
			}
			break
		}
	}
	return best, ok
}

// plainLast orders the classes so that pods which a spread counts, and to which domains
// do not matter themselves, come after all others of their priority: they could take
// the places of those that are spread.
func (s *solver) plainLast(open []*class) []*class {
	spread := map[int]bool{}
	for _, c := range open {
		for _, sp := range c.spreads {
			spread[sp.group] = true
		}
	}
	if len(spread) == 0 {
		return open
	}
	plain := func(c *class) bool {
		return !c.urgent && !c.bound() && slices.ContainsFunc(c.member, func(id int) bool { return spread[id] })
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
func (s *solver) placeByDomain(c *class, o *model.Options, l level) []*lot {
	spots := s.spotsFor(c, o, l)
	s.pour(c, spots, l.givenUp)
	for c.open() > 0 {
		best := s.bestSpot(c, spots, l.givenUp)
		if best < 0 {
			break
		}
		at := &spots[best]
		if i, ok := s.nodeIn(c, o, at); ok {
			s.put(c, s.nodes[i], l, 1)
			s.enter(c, at, o.Requires, 1, s.nodes[i])
			continue
		}
		if at.lot == nil {
			spots = slices.Delete(spots, best, best+1)
			continue
		}
		at.lot.n++
		c.booked++
		s.enter(c, at, at.lot.opt.Requires, 1, nil)
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
func (s *solver) nodeIn(c *class, o *model.Options, at *spot) (int, bool) {
	for ; at.next < len(at.nodes); at.next++ {
		if s.roomOn(c, o, at.nodes[at.next], 1) > 0 {
			return at.nodes[at.next], true
		}
	}
	return 0, false
}

// bestSpot returns the spot for the next pod, or -1.
func (s *solver) bestSpot(c *class, spots []spot, dropped dropSet) int {
	best, bestCount := -1, int64(0)
	for i := range spots {
		at := &spots[i]
		count, ok := s.admits(c, at, dropped)
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

// admits reports whether another pod of the class may enter the spot, and how many
// pods are there that its spreads count, and that others' spreads count with it: where
// these are few there is most need of it.
func (s *solver) admits(c *class, at *spot, dropped dropSet) (int64, bool) {
	if c.never.Kind == match.Exhausted {
		return 0, false // what it asks for has not been looked at
	}
	s.Effort.Begin(c.Account)
	s.Effort.Spend(stepsToAdmit * (1 + len(c.spreads) + len(c.attracts) + len(c.repels) + len(c.member)))
	spread, counted := false, int64(0)
	for i := range c.spreads {
		sp := &c.spreads[i]
		if c.gaveUp(dropped, sp.drop) {
			continue
		}
		g := s.groups.list[sp.group]
		value, ok := at.value(g.key)
		if !ok || g.count[value]+sp.self-s.fewest(c, sp) > sp.maxSkew {
			return 0, false
		}
		spread = true
		counted += g.count[value]
	}
	for _, b := range c.attracts {
		g := s.groups.list[b.group]
		value, ok := at.value(g.key)
		if b.drop >= 0 && (c.gaveUp(dropped, b.drop) || g.total == 0) {
			continue
		}
		if !ok || g.count[value] == 0 && !at.lends(b.group) && (b.drop >= 0 || !s.begins(c)) {
			return 0, false
		}
	}
	for _, b := range c.repels {
		g := s.groups.list[b.group]
		if c.gaveUp(dropped, b.drop) {
			continue
		}
		if value, ok := at.value(g.key); ok && g.count[value] > 0 {
			return 0, false
		}
	}
	for _, id := range c.member {
		if g := s.groups.list[id]; spread && g.spread {
			value, _ := at.value(g.key)
			counted += g.count[value]
		}
	}
	return counted, !s.repelled(c, at)
}

// stepsToAdmit is the effort of looking at one rule of a class in a spot.
const stepsToAdmit = 4

// begins reports whether a pod of the class may be where no pod is that it has a
// required affinity to: it is such a pod itself, and there is none anywhere.
func (s *solver) begins(c *class) bool {
	for _, b := range slices.Concat(c.attracts, c.follows) {
		if b.drop < 0 && (!b.self || s.groups.list[b.group].total > 0) {
			return false
		}
	}
	return true
}

// lends reports whether the machines that would be bought in the spot run a
// DaemonSet's pod of the group.
func (at *spot) lends(group int) bool {
	return at.lot != nil && at.next >= len(at.nodes) && slices.Contains(at.lot.lent, group)
}

func (at *spot) value(key string) (string, bool) {
	i, ok := slices.BinarySearch(at.keys, key)
	if !ok {
		return "", false
	}
	return at.domains[i].Value, at.domains[i].Known
}

// fewest returns the smallest count of a spread's domains, 0 while there are
// fewer domains than it wants.
func (s *solver) fewest(c *class, sp *spread) int64 {
	g := s.groups.list[sp.group]
	domains := s.domains(c, sp)
	if len(domains) < sp.minDomains {
		return 0
	}
	s.Effort.Spend(2 * len(domains))
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
	s.Effort.Begin(c.Account)
	seen := setOf(s.present(g))
	keys := slices.DeleteFunc(append([]string{g.key}, g.labelled...), func(key string) bool { return key == corev1.LabelHostname })
	slices.Sort(keys) // so that all spreads of a pod ask for the same cells
	mine := slices.Index(keys, g.key)
	for _, place := range c.Places {
		o := s.OptionsFor(place, c.Template.Tolerations, c.Tolerates, false)
		cells := s.CellsOf(o, keys)
		s.Effort.Spend(len(cells) * len(keys))
		for _, at := range cells {
			if !slices.ContainsFunc(at.Domains, func(d model.Domain) bool { return !d.Known }) {
				seen[at.Domains[mine].Value] = true
			}
		}
	}
	sp.domains = model.SortedKeys(seen)
	return sp.domains
}

// present lists the values of the group's key that nodes have, those of the plan
// included where that is known.
func (s *solver) present(g *group) []string {
	if g.selective() {
		return s.valuesOf(g.key, func(n *node) bool {
			s.Effort.Spend(model.StepsToMatch * (1 + len(g.labelled) + len(g.nodes)))
			return g.counts(n.Node)
		})
	}
	known, ok := s.values[g.key]
	if !ok {
		known = s.valuesOf(g.key, func(*node) bool { return true })
		s.values[g.key] = known
	}
	return known
}

// valuesOf lists the values of a label that some of the nodes have.
func (s *solver) valuesOf(key string, some func(*node) bool) []string {
	seen := map[string]bool{}
	s.Effort.Spend(model.StepsToMatch * (len(s.nodes) + len(s.closed) + len(s.planned)))
	look := func(n *node) {
		if value, ok := n.Labels[key]; ok && !seen[value] && some(n) {
			seen[value] = true
		}
	}
	for _, list := range [][]*node{s.nodes, s.closed} {
		for _, n := range list {
			look(n)
		}
	}
	for _, at := range s.planned {
		look(at.node)
	}
	return model.SortedKeys(seen)
}

// enter counts pods of the class in a spot.
func (s *solver) enter(c *class, at *spot, requires match.Requirements, k int64, n *node) {
	for _, id := range c.member {
		g := s.groups.list[id]
		if value, ok := at.value(g.key); ok && (n != nil && g.counts(n.Node) || n == nil && g.countsPlan(requires, at)) {
			g.count[value] += k
			g.total += k
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
		s.enter(p.class, l.at, l.opt.Requires, -k*p.n, nil)
	}
}

// spotsFor lists where the class may go at a level, sorted by domain.
func (s *solver) spotsFor(c *class, o *model.Options, level level) []spot {
	byDomains := map[string]int{}
	var out []spot
	at := func(domains []model.Domain) *spot {
		key := model.DomainsKey(domains)
		i, ok := byDomains[key]
		if !ok {
			i = len(out)
			byDomains[key] = i
			out = append(out, spot{keys: c.keys, domains: domains, bargain: nothing})
		}
		return &out[i]
	}
	for i, n := range s.nodes {
		if s.Matches(o, i) {
			s.Effort.Spend(model.StepsToMatch * len(c.keys))
			to := at(spotOver(c.keys, n).domains)
			to.nodes = append(to.nodes, i)
		}
	}
	cells, left := s.CellsOf(o, c.keys), s.budgets()
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
		l.at = &spot{keys: c.keys, domains: cells[i].Domains}
	}
	slices.SortStableFunc(out, func(a, b spot) int {
		return slices.CompareFunc(a.domains, b.domains, func(x, y model.Domain) int { return strings.Compare(x.Value, y.Value) })
	})
	return out
}

// hasRoom reports whether a planned machine has room for a load.
func (s *solver) hasRoom(l *lot) bool {
	return slices.ContainsFunc(s.machines, func(m *machine) bool { k, _ := s.admit(m, l, 1); return k > 0 })
}

func (s *solver) cheapest(mask model.Bitset) int64 {
	best := int64(math.MaxInt64)
	for _, p := range s.Pools {
		for k := range mask.Within(p.Offerings) { // sorted by price
			best = min(best, s.Offerings[k].Price)
			break
		}
	}
	return best
}
