package pack

import (
	"cmp"
	"slices"
	"sort"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// How many lots are looked at for exchanges, and how many exchanges are made in
// one machine.
const (
	exchangeWindow = 256
	maxExchanges   = 24
)

const (
	// leastGain is the part of a machine's price that an exchange has to be worth.
	leastGain = 1e-5
	// tidy is the part of a machine's price that room may be worth that is left.
	tidy = 1e-3
)

// offered is a lot for exchanges.
type offered struct {
	lot   int
	worth float64 // of a load
}

// sample lists lots for exchanges, the most worth first: all where there are few,
// else some of every size.
func (c *cover) sample() {
	c.window, c.dearest = c.window[:0], 0
	n := min(len(c.order), exchangeWindow)
	for w := range n {
		i := c.order[w*len(c.order)/n]
		c.window = append(c.window, offered{i, c.worth[i]})
		c.dearest = max(c.dearest, c.scale[i])
	}
	slices.SortStableFunc(c.window, func(a, b offered) int { return cmp.Compare(b.worth, a.worth) })
	c.windowNeeds = c.windowNeeds[:0]
	for _, o := range c.window {
		c.windowNeeds = append(c.windowNeeds, c.needOf(o.lot)...)
	}
}

// exchanger exchanges loads on a machine.
type exchanger struct{ *cover }

// polish raises the worth of a machine's content: one pod leaves for another that
// is worth more and fits, and what room then is left is filled again. The seed
// keeps a pod, so that the largest do not remain to the end.
func (c exchanger) polish(m *machine, seed int) {
	least := leastGain * float64(c.costOf(m))
	changed := false
	for range maxExchanges {
		if c.wasted(m) < tidy*float64(c.costOf(m)) {
			break
		}
		out, in := c.bestExchange(m, seed, least)
		if in < 0 {
			break
		}
		c.exchange(m, out, in)
		changed = true
		for _, o := range c.window {
			if c.full(m) {
				break
			}
			c.take(m, o.lot, c.left[o.lot])
		}
	}
	if changed {
		c.s.refresh(m)
	}
}

// bestExchange returns the item that loses a load and the lot that gains one, or
// -1 where no exchange gains at least so much.
func (c exchanger) bestExchange(m *machine, seed int, gain float64) (out, in int) {
	out, in = -1, -1
	room, width := c.s.Offerings[m.column].Room, len(c.spare)
	for k, it := range m.items {
		if len(it.lot.host) > 0 || it.lot.index == seed && it.n == 1 {
			continue
		}
		for r, v := range it.lot.need {
			c.spare[r] = room[r] - m.used[r] + v
		}
		own := c.worth[it.lot.index]
		for w := c.firstWithin(c.dearest * price.Value(c.spare, c.unit)); w < len(c.window); w++ {
			i, more := c.window[w].lot, c.window[w].worth-own
			if more <= gain {
				break // sorted by worth
			}
			if model.Fits(c.windowNeeds[w*width:(w+1)*width], c.spare) && c.taken[i] < c.left[i] && c.joins(m, c.lots[i]) && c.yields(it.lot, c.lots[i], m) {
				out, in, gain = k, i, more
				break
			}
		}
	}
	return out, in
}

// wasted returns what the machine costs beyond what its content is worth.
func (c *cover) wasted(m *machine) float64 { return float64(c.costOf(m)) - c.worthOfItems(m) }

// firstWithin returns the place in the window of the first lot that is worth no more
// than the room: a load needs what it is worth.
func (c exchanger) firstWithin(worth float64) int {
	worth *= 1 + 1e-9
	return sort.Search(len(c.window), func(w int) bool { return c.window[w].worth <= worth })
}

// joins reports whether the lot may be on the machine, room apart.
func (c exchanger) joins(m *machine, l *lot) bool {
	if len(l.host) > 0 || !l.mask.Has(m.column) {
		return false
	}
	col := &c.s.Offerings[m.column]
	residual, ok := c.s.Merge(m.residual, l.opt.Residual[col.Pool])
	return ok && (residual == m.residual || c.s.LeavesChoice(residual, col))
}

// yields reports whether a load may leave the machine for another: not for a less
// important one where a limit may decide who gets a place.
func (c exchanger) yields(leaves, comes *lot, m *machine) bool {
	return c.budget[m.seller.Number] == nil || leaves.priority() <= comes.priority()
}

func (c exchanger) exchange(m *machine, out, in int) {
	leaves, comes := m.items[out].lot, c.lots[in]
	model.AddTimes(m.used, leaves.need, -1)
	c.taken[leaves.index]--
	if m.items[out].n--; m.items[out].n == 0 {
		m.items = slices.Delete(m.items, out, out+1)
	}
	residual, _ := c.s.Merge(m.residual, comes.opt.Residual[m.seller.Number])
	m.add(comes, 1, residual)
	c.taken[in]++
}
