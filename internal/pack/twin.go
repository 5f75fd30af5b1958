package pack

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Pods that are spread over zones make lots that differ in nothing but the zone.
// A machine that is good for one zone is as good for the others: its twins are
// bought with it, so that zones cost no more time than one.

// pinned identifies lots that differ in the zone only.
type pinned struct {
	class *class
	level level
}

// pin lists the lots of one class that are pinned to zones.
func (c *cover) pin() {
	c.pinned = map[pinned][]*lot{}
	for _, l := range c.lots {
		if id, ok := l.pinnedTo(); ok {
			c.pinned[id] = append(c.pinned[id], l)
		}
	}
}

func (l *lot) pinnedTo() (pinned, bool) {
	if l.at == nil || len(l.parts) != 1 || !slices.Equal(l.at.keys, []string{api.LabelZone}) {
		return pinned{}, false
	}
	return pinned{l.parts[0].class, l.parts[0].level}, true
}

// buyTwins buys machines for other zones with the same content as m, as far as that
// is still to be bought for.
func (c *cover) buyTwins(m *machine) {
	id, ok := m.items[0].lot.pinnedTo()
	if !ok {
		return
	}
	rate := c.bestRate(m.items[0].lot)
	for _, l := range c.pinned[id] {
		if l == m.items[0].lot || c.bestRate(l) < rate {
			continue // there is better to be had in that zone
		}
		if t := c.twin(m, l.at.domains[0].value); t != nil {
			c.buy(t, 1)
		}
	}
}

// bestRate returns the best rate of the candidates for a lot.
func (c *cover) bestRate(l *lot) float64 {
	best := math.Inf(1)
	for j, k := range c.columns {
		if c.rate[j] < best && l.mask.has(k) {
			best = c.rate[j]
		}
	}
	return best
}

// twin returns a machine with the same content in the zone, or nil.
func (c *cover) twin(m *machine, zone string) *machine {
	column, ok := c.s.twinColumn(m.column, zone)
	if !ok || c.budget.affords(&c.s.columns[column], 1) == 0 {
		return nil
	}
	out := c.s.newMachine(column)
	clear(c.taken)
	for _, it := range m.items {
		i := c.lotIn(it.lot, zone)
		if i < 0 || c.left[i] < it.n {
			return nil
		}
		if c.take(out, i, it.n); c.taken[i] != it.n {
			return nil
		}
	}
	return out
}

// lotIn returns the lot's twin in the zone, or the lot itself where zones do not
// matter to it, or -1.
func (c *cover) lotIn(l *lot, zone string) int {
	if l.at == nil {
		return l.index
	}
	id, ok := l.pinnedTo()
	if !ok {
		return -1
	}
	at := slices.IndexFunc(c.pinned[id], func(o *lot) bool { return o.at.domains[0].value == zone })
	if at < 0 {
		return -1
	}
	return c.pinned[id][at].index
}

// twinColumn returns the column of the same type, capacity type and price in the
// zone.
func (s *solver) twinColumn(column int, zone string) (int, bool) {
	for _, k := range s.twinColumns(column) {
		if o := s.columns[k].offering; o.Zone == zone && o.CapacityType == s.columns[column].offering.CapacityType {
			return k, true
		}
	}
	return 0, false
}

// twinColumns lists the columns of the same type and price. They are next to each other,
// because columns are sorted by price and type.
func (s *solver) twinColumns(column int) []int {
	own := &s.columns[column]
	same := func(k int) bool {
		return k >= 0 && k < len(s.columns) && s.columns[k].provisioner == own.provisioner && s.columns[k].model == own.model && s.columns[k].price == own.price
	}
	first := column
	for same(first - 1) {
		first--
	}
	var out []int
	for k := first; same(k); k++ {
		out = append(out, k)
	}
	return out
}
