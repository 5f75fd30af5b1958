package purchase

import (
	"slices"
	"sort"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

const (
	// maxExchanges bounds the exchanges in one machine.
	maxExchanges = 24
	// leastGain is the part of a machine's price that an exchange has to be worth.
	leastGain = 1e-5
	// tidy is the part of a machine's price that its remaining room may be worth.
	tidy = 1e-3
)

// exchangeAll raises the value of a machine's content: one item leaves for another that
// is worth more and fits, and what room then is left is filled again. The seed
// keeps an item, so that the largest do not remain to the end.
func (f *filler) exchangeAll(m *assign.Machine, seed int) {
	cost := float64(f.weighedCost(m))
	changed := false
	for range maxExchanges {
		if cost-f.values.of(m) < tidy*cost {
			break
		}
		out, in := f.bestExchange(m, seed, leastGain*cost)
		if in < 0 {
			break
		}
		f.exchange(m, out, in)
		changed = true
		for _, o := range f.values.window.offered {
			if f.full(m) {
				break
			}
			f.take(m, o.group, f.left[o.group])
		}
	}
	if changed {
		f.Refresh(m)
	}
}

// bestExchange returns the place in the machine's items that loses one and the pod group that gains one, or
// -1 where no exchange gains at least so much.
func (f *filler) bestExchange(m *assign.Machine, seed int, gain float64) (out, in int) {
	out, in = -1, -1
	room, w := f.Offerings[m.Offering].Room, &f.values.window
	for k, it := range m.Items {
		if len(it.Group.PerNode) > 0 || it.Group.Index == seed && it.N == 1 {
			continue
		}
		for r, v := range it.Group.Need {
			f.free[r] = room[r] - m.Used[r] + v
		}
		own := f.values.item[it.Group.Index]
		for _, o := range w.offered[w.firstWithin(w.scale*price.Value(f.free, f.values.unit)):] {
			more, comes := o.value-own, f.asked[o.group]
			if more <= gain {
				break // the most valuable come first
			}
			if model.Fits(comes.Need, f.free) && f.taken[o.group] < f.left[o.group] && f.joins(m, comes) && f.yields(it.Group, comes, m) {
				out, in, gain = k, o.group, more
				break
			}
		}
	}
	return out, in
}

// firstWithin returns the place of the first pod group of which an item is worth no more than
// some room: it needs what it is worth.
func (w *window) firstWithin(value float64) int {
	value *= 1 + 1e-9
	return sort.Search(len(w.offered), func(k int) bool { return w.offered[k].value <= value })
}

// joins reports whether the pod group may be on the machine, room apart.
func (f *filler) joins(m *assign.Machine, g *assign.PodGroup) bool {
	if len(g.PerNode) > 0 || !g.Mask.Has(m.Offering) {
		return false
	}
	o := &f.Offerings[m.Offering]
	residual, ok := f.Merge(m.Residual, g.Opt.Residual[o.Pool])
	return ok && (residual == m.Residual || f.LeavesChoice(residual, o))
}

// yields reports whether an item may leave the machine for another: not for a less
// important one where a limit may decide who gets a place.
func (f *filler) yields(leaves, comes *assign.PodGroup, m *assign.Machine) bool {
	return f.limits[m.Pool.Number] == nil || leaves.Priority() <= comes.Priority()
}

func (f *filler) exchange(m *assign.Machine, out, in int) {
	leaves, comes := m.Items[out].Group, f.asked[in]
	model.AddTimes(m.Used, leaves.Need, -1)
	f.taken[leaves.Index]--
	if m.Items[out].N--; m.Items[out].N == 0 {
		m.Items = slices.Delete(m.Items, out, out+1)
	}
	residual, _ := f.Merge(m.Residual, comes.Opt.Residual[m.Pool.Number])
	m.Add(comes, 1, residual)
	f.taken[in]++
}
