package purchase

import (
	"cmp"
	"slices"
	"sort"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// How many pod groups are looked at for exchanges, and how many exchanges are made in
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

// offered is a pod group for exchanges.
type offered struct {
	group int
	value float64 // of a load
}

// sample lists pod groups for exchanges, the most worth first: all where there are few,
// else some of every size.
func (c *purchase) sample() {
	c.window, c.largestScale = c.window[:0], 0
	n := min(len(c.order), exchangeWindow)
	for w := range n {
		i := c.order[w*len(c.order)/n]
		c.window = append(c.window, offered{i, c.value[i]})
		c.largestScale = max(c.largestScale, c.scale[i])
	}
	slices.SortStableFunc(c.window, func(a, b offered) int { return cmp.Compare(b.value, a.value) })
	c.windowNeeds = c.windowNeeds[:0]
	for _, o := range c.window {
		c.windowNeeds = append(c.windowNeeds, c.needOf(o.group)...)
	}
}

// exchanger exchanges loads on a machine.
type exchanger struct{ *purchase }

// improve raises the worth of a machine's content: one pod leaves for another that
// is worth more and fits, and what room then is left is filled again. The seed
// keeps a pod, so that the largest do not remain to the end.
func (c exchanger) improve(m *assign.Machine, seed int) {
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
			c.take(m, o.group, c.left[o.group])
		}
	}
	if changed {
		c.s.Refresh(m)
	}
}

// bestExchange returns the item that loses a load and the pod group that gains one, or
// -1 where no exchange gains at least so much.
func (c exchanger) bestExchange(m *assign.Machine, seed int, gain float64) (out, in int) {
	out, in = -1, -1
	room, width := c.s.Offerings[m.Offering].Room, len(c.spare)
	for k, it := range m.Items {
		if len(it.Group.Host) > 0 || it.Group.Index == seed && it.N == 1 {
			continue
		}
		for r, v := range it.Group.Need {
			c.spare[r] = room[r] - m.Used[r] + v
		}
		own := c.value[it.Group.Index]
		for w := c.firstWithin(c.largestScale * price.Value(c.spare, c.unit)); w < len(c.window); w++ {
			i, more := c.window[w].group, c.window[w].value-own
			if more <= gain {
				break // sorted by worth
			}
			if model.Fits(c.windowNeeds[w*width:(w+1)*width], c.spare) && c.taken[i] < c.left[i] && c.joins(m, c.groups[i]) && c.yields(it.Group, c.groups[i], m) {
				out, in, gain = k, i, more
				break
			}
		}
	}
	return out, in
}

// wasted returns what the machine costs beyond what its content is worth.
func (c *purchase) wasted(m *assign.Machine) float64 { return float64(c.costOf(m)) - c.valueOf(m) }

// firstWithin returns the place in the window of the first pod group that is worth no more
// than the room: a load needs what it is worth.
func (c exchanger) firstWithin(worth float64) int {
	worth *= 1 + 1e-9
	return sort.Search(len(c.window), func(w int) bool { return c.window[w].value <= worth })
}

// joins reports whether the pod group may be on the machine, room apart.
func (c exchanger) joins(m *assign.Machine, l *assign.PodGroup) bool {
	if len(l.Host) > 0 || !l.Mask.Has(m.Offering) {
		return false
	}
	col := &c.s.Offerings[m.Offering]
	residual, ok := c.s.Merge(m.Residual, l.Opt.Residual[col.Pool])
	return ok && (residual == m.Residual || c.s.LeavesChoice(residual, col))
}

// yields reports whether a load may leave the machine for another: not for a less
// important one where a limit may decide who gets a place.
func (c exchanger) yields(leaves, comes *assign.PodGroup, m *assign.Machine) bool {
	return c.budget[m.Pool.Number] == nil || leaves.Priority() <= comes.Priority()
}

func (c exchanger) exchange(m *assign.Machine, out, in int) {
	leaves, comes := m.Items[out].Group, c.groups[in]
	model.AddTimes(m.Used, leaves.Need, -1)
	c.taken[leaves.Index]--
	if m.Items[out].N--; m.Items[out].N == 0 {
		m.Items = slices.Delete(m.Items, out, out+1)
	}
	residual, _ := c.s.Merge(m.Residual, comes.Opt.Residual[m.Pool.Number])
	m.Add(comes, 1, residual)
	c.taken[in]++
}
