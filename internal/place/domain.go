package place

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// domainChoice is a combination of topology domains that a class may be placed in at a level: by
// nodes that are there, by machines that can be bought, or both.
type domainChoice struct {
	topology.DomainAssignment
	level assign.Level
	opt   *model.Options
	nodes []int
	next  int // nodes before it have no more room for the class
	group *assign.PodGroup
	rank  assign.Rank
	// What all pods of a class cost there that have to be together, and of which weight the
	// Provisioners are that hold all of them.
	total  float64
	weight int32
}

// nothing is the rank after everything that can be bought.
var nothing = assign.Rank{Weight: math.MinInt32, Price: math.MaxInt64}

// plainLast orders the classes so that pods which a spread counts, and to which domains
// do not matter themselves, come after all others of their priority: they could take
// the places of those that are spread.
func (pl *Placer) plainLast(open []*assign.Class) []*assign.Class {
	spread := map[int]bool{}
	for _, c := range open {
		for _, sp := range c.Spreads() {
			spread[sp.Group()] = true
		}
	}
	if len(spread) == 0 {
		return open
	}
	plain := func(c *assign.Class) bool {
		return !c.Urgent && !c.Waits() && slices.ContainsFunc(c.Members, func(id int) bool { return spread[id] })
	}
	out := slices.Clone(open)
	slices.SortStableFunc(out, func(a, b *assign.Class) int {
		return cmp.Or(cmp.Compare(b.Template.Priority, a.Template.Priority), model.CmpBool(plain(a), plain(b)))
	})
	return out
}

// placeByDomain places the pods of a class that domains matter to, one at a time,
// each in the domain that evens out its spreads, then where there is room
// already, then where it is cheapest; or where such pods are, if they gather.
func (pl *Placer) placeByDomain(c *assign.Class, l assign.Level) []*assign.PodGroup {
	choices := pl.domainChoices(c, l)
	if c.Together() {
		pl.priceAll(c, choices)
	}
	for c.Open() > 0 {
		best := pl.bestDomain(c, choices, l.Relaxed)
		if best < 0 {
			break
		}
		at := &choices[best]
		if at.next < len(at.nodes) {
			if i, ok := pl.nodeIn(c, at); ok {
				pl.Put(c, i, at.level, 1)
			}
			continue // without room on its nodes it may not be the best any more
		}
		if at.group == nil {
			choices = slices.Delete(choices, best, best+1)
			continue
		}
		at.group.N++
		c.Booked++
		pl.State.Enter(c.Rules, &at.DomainAssignment, at.group.Opt.Requires, 1)
	}
	var out []*assign.PodGroup
	for _, at := range choices {
		if at.group != nil && at.group.N > 0 {
			out = append(out, at.group)
		}
	}
	return out
}

// nodeIn returns a node of the domain choice with room for a pod of the class.
func (pl *Placer) nodeIn(c *assign.Class, at *domainChoice) (int, bool) {
	for ; at.next < len(at.nodes); at.next++ {
		if pl.RoomOn(c, at.opt, at.nodes[at.next], 1) > 0 {
			return at.nodes[at.next], true
		}
	}
	return 0, false
}

// bestDomain returns the domain choice for the next pod, or -1.
func (pl *Placer) bestDomain(c *assign.Class, choices []domainChoice, relaxed topology.Relaxed) int {
	best, bestCount := -1, int64(0)
	gathers := pl.Gather[c.First()]
	for i := range choices {
		at := &choices[i]
		at.Lent = nil
		if at.group != nil && at.next >= len(at.nodes) {
			at.Lent = at.group.Lent
		}
		count, ok := pl.Admits(c, &at.DomainAssignment, relaxed)
		if pl.Effort.Over() {
			return -1
		}
		if !ok {
			continue
		}
		if best < 0 || gathers && at.gather(&choices[best], count, bestCount) < 0 ||
			!gathers && cmp.Or(cmp.Compare(count, bestCount), at.compare(&choices[best])) < 0 {
			best, bestCount = i, count
		}
	}
	return best
}

// gather tells which domain choice a pod goes to first if it may go to all that its spreads admit,
// by the pods that these count. Where a machine is bought for pods of its class, it may have room
// for one more, and the next one is bought where pods are few, so that most choices stay open.
func (at *domainChoice) gather(o *domainChoice, count, others int64) int {
	x, y := *at, *o
	x.rank.Price, y.rank.Price = 0, 0
	chosen := func(at *domainChoice) bool { return at.group != nil && at.group.N > 0 }
	switch c := cmp.Or(x.compare(&y), model.CmpBool(chosen(o), chosen(at))); {
	case c != 0:
		return c
	case chosen(at):
		return cmp.Or(at.compare(o), cmp.Compare(count, others), cmp.Compare(at.group.N, o.group.N))
	}
	return cmp.Or(cmp.Compare(count, others), at.compare(o))
}

// compare tells which domain choice a pod goes to first: where nodes may have room, then where
// its first alternative is met, and then where the best is sold. Pods that have to be together
// go where nodes have room for all, or else where all of them cost least; weights come first
// only among the domains that hold all.
func (at *domainChoice) compare(o *domainChoice) int {
	switch {
	case at.total == o.total:
	case at.holdsAll() && o.holdsAll():
		return cmp.Or(cmp.Compare(o.weight, at.weight), model.CmpBool(at.rank.Elsewhere, o.rank.Elsewhere), cmp.Compare(at.total, o.total))
	default:
		return cmp.Compare(at.total, o.total)
	}
	full := func(at *domainChoice) bool { return at.next == len(at.nodes) }
	if c := model.CmpBool(full(at), full(o)); c != 0 || !full(at) {
		return c
	}
	return cmp.Or(cmp.Compare(at.level.Place, o.level.Place), at.rank.Compare(o.rank))
}

// holdsAll reports whether machines that limits allow hold all pods that have to be together.
func (at *domainChoice) holdsAll() bool { return at.total > 0 && !math.IsInf(at.total, 1) }

// domainChoices lists where the class may go at a level, sorted by domain. Pods that are spread
// may go to the domains of the next alternatives as well: only pods there open those of the first
// again once a spread has closed them.
func (pl *Placer) domainChoices(c *assign.Class, level assign.Level) []domainChoice {
	out := pl.choicesAt(c, level)
	if len(c.Spreads()) > 0 && !c.Together() {
		for level.Place++; level.Place < len(c.Places); level.Place++ {
			out = append(out, pl.choicesAt(c, level)...)
		}
	}
	slices.SortStableFunc(out, func(a, b domainChoice) int {
		return slices.CompareFunc(a.Domains, b.Domains, func(x, y model.Domain) int { return strings.Compare(x.Value, y.Value) })
	})
	return out
}

// choicesAt lists where the class may go at a level by the alternative of that level alone.
func (pl *Placer) choicesAt(c *assign.Class, level assign.Level) []domainChoice {
	o, ok := pl.OptionsAt(c, level)
	if !ok {
		return nil
	}
	byDomains := map[string]int{}
	var out []domainChoice
	at := func(domains []model.Domain) *domainChoice {
		key := model.DomainsKey(domains)
		i, ok := byDomains[key]
		if !ok {
			i = len(out)
			byDomains[key] = i
			out = append(out, domainChoice{DomainAssignment: topology.DomainAssignment{Keys: c.Keys, Domains: domains}, level: level, opt: o, rank: nothing})
		}
		return &out[i]
	}
	for i, n := range pl.Existing() {
		if pl.Matches(o, i) {
			pl.Effort.Spend(model.StepsToMatch * len(c.Keys))
			to := at(topology.AssignmentOf(c.Keys, n.Node).Domains)
			to.nodes = append(to.nodes, i)
		}
	}
	combinations, left := pl.CombinationsOf(o, c.Keys), pl.Remaining()
	for i := range combinations {
		if pl.Effort.Over() {
			return nil
		}
		g, ok := pl.GroupFor(c, level, pl.PinnedTo(o, &combinations[i]))
		if !ok {
			continue
		}
		best, ok := pl.BestRank(g.Mask, left)
		if !ok {
			c.Limited = true
			if !pl.hasRoom(g) {
				continue
			}
			best = nothing
		}
		best.Elsewhere = pl.elsewhere(c, c.Keys, combinations[i].Domains)
		to := at(combinations[i].Domains)
		to.group, to.rank = g, best
		g.At = &topology.DomainAssignment{Keys: c.Keys, Domains: combinations[i].Domains}
	}
	return out
}

// elsewhere reports whether domains are outside the zones that the class prefers.
func (pl *Placer) elsewhere(c *assign.Class, keys []string, domains []model.Domain) bool {
	prefers, ok := pl.Zones[c.First()]
	at := slices.Index(keys, api.LabelZone)
	return ok && at >= 0 && (domains[at].Value == prefers.Zone) == prefers.Others
}

// priceAll sets what the pods of the class for which the nodes have no room cost in each of the
// choices, if all of them are on machines of one offering.
func (pl *Placer) priceAll(c *assign.Class, choices []domainChoice) {
	left := pl.Remaining()
	for i := range choices {
		at, open := &choices[i], c.Open()
		for _, n := range at.nodes {
			open -= pl.RoomAlone(c, at.opt, n, open)
		}
		if open > 0 {
			pl.priceOf(at, open, left)
		}
	}
}

// priceOf sets what so many pods cost on machines of the cheapest offering that the choice
// and limits allow, of the Provisioners of the highest weight that have one. The price is infinite
// if there is none.
func (pl *Placer) priceOf(at *domainChoice, pods int64, left assign.RemainingLimits) {
	at.total, at.weight = math.Inf(1), math.MinInt32
	if at.group == nil {
		return
	}
	empty := pl.NewMachine(0)
	for k := range at.group.Mask.All {
		offering := &pl.Offerings[k]
		of := pl.Pools[offering.Pool].Weight
		if of < at.weight {
			continue
		}
		pl.Reset(empty, k)
		n, _ := pl.Admit(empty, at.group, pods)
		machines := (pods + n - 1) / max(1, n)
		if n == 0 || left.Affords(offering, machines) < machines {
			continue
		}
		if of > at.weight {
			at.total, at.weight = math.Inf(1), of
		}
		at.total = min(at.total, float64(machines*offering.Cost))
	}
}

// hasRoom reports whether a planned machine has room for an item.
func (pl *Placer) hasRoom(g *assign.PodGroup) bool {
	return slices.ContainsFunc(pl.Machines(), func(m *assign.Machine) bool { k, _ := pl.Admit(m, g, 1); return k > 0 })
}
