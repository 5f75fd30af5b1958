package localsearch

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
)

// market states a problem for the search: offerings by cost, and resources that somebody
// needs.
type market struct {
	items []Item
	width int
	need  []int64 // item by item
	kinds []bitset.Set
	// Offerings are sorted, first the nodes and then the cheapest first. Within the package, an offering is its place in
	// this order. By offering:
	order []int // its index in Problem.Offerings
	nodes int   // how many of them are nodes
	place []int // the reverse
	room  []int64
	costs []int64
	limit []int
	uses  [][]int64
	// ranked lists for each kind its offerings, those first whose room can be worth most
	// for the cost.
	ranked [][]int
	// density, by offering and item, is the part of what the room that an item takes could
	// be worth to others that it is worth itself.
	density []float64
}

func newMarket(p *Problem) market {
	m := market{items: p.Items, order: make([]int, len(p.Offerings)), place: make([]int, len(p.Offerings))}
	var used []int
	for r := range p.Items[0].Need {
		if slices.ContainsFunc(p.Items, func(it Item) bool { return it.Need[r] > 0 }) {
			used = append(used, r)
		}
	}
	m.width = len(used)
	for i := range p.Items {
		m.need = appendOf(m.need, p.Items[i].Need, used)
	}
	for j := range m.order {
		m.order[j] = j
	}
	slices.SortStableFunc(m.order, func(a, b int) int {
		if x, y := &p.Offerings[a], &p.Offerings[b]; x.Node == y.Node {
			return cmp.Compare(x.Cost, y.Cost)
		} else if x.Node {
			return -1
		}
		return 1
	})
	for at, j := range m.order {
		o := &p.Offerings[j]
		if o.Node {
			m.nodes++
		}
		m.place[j] = at
		m.costs, m.limit, m.uses = append(m.costs, o.Cost), append(m.limit, o.Limit), append(m.uses, o.Uses)
		m.room = appendOf(m.room, o.Room, used)
	}
	for _, kind := range p.Kinds {
		of := bitset.New(len(m.order))
		for _, j := range kind {
			of.Add(m.place[j])
		}
		m.kinds = append(m.kinds, of)
	}
	m.rank(used)
	return m
}

func appendOf(list, values []int64, at []int) []int64 {
	for _, r := range at {
		list = append(list, values[r])
	}
	return list
}

// rank sorts the offerings of each kind and sets the densities.
func (m *market) rank(used []int) {
	ratio, price := make([]float64, len(m.order)), make([]float64, m.width)
	m.density = make([]float64, len(m.order)*len(m.items))
	for j := range m.order {
		clear(price)
		for i := range m.items {
			if it := &m.items[i]; m.kinds[it.Kind].Has(j) {
				for r, at := range used {
					price[r] = max(price[r], it.Price[at])
				}
			}
		}
		ratio[j] = valueOf(m.roomOf(j), price) / float64(m.costs[j])
		for i := range m.items {
			if it := &m.items[i]; m.kinds[it.Kind].Has(j) {
				m.density[j*len(m.items)+i] = it.Value / max(valueOf(m.needOf(i), price), leastValue)
			}
		}
	}
	for _, kind := range m.kinds {
		var able []int
		for j := m.nodes; j < len(m.order); j++ {
			if kind.Has(j) {
				able = append(able, j)
			}
		}
		slices.SortStableFunc(able, func(a, b int) int { return cmp.Compare(ratio[b], ratio[a]) })
		m.ranked = append(m.ranked, able)
	}
}

// leastValue is more than nothing, and less than any item is worth.
const leastValue = 1e-9

func valueOf(of []int64, price []float64) float64 {
	sum := 0.0
	for r, v := range of {
		sum += float64(float64(v) * price[r])
	}
	return sum
}

func (m *market) roomOf(offering int) []int64 { return m.room[offering*m.width:][:m.width] }
func (m *market) needOf(item int) []int64     { return m.need[item*m.width:][:m.width] }

// copies returns how many items of an item the room holds, at most n.
func (m *market) copies(item int, room []int64, n int64) int64 {
	need := m.need[item*m.width:][:len(room)]
	for r, v := range need {
		if v > room[r] {
			return 0
		}
		if v > 0 && n > 1 && v*n > room[r] {
			n = room[r] / v
		}
	}
	return n
}

// masked sets the offerings that all parts allow.
func (m *market) masked(on bitset.Set, parts []Part) {
	for w := range on {
		on[w] = math.MaxUint64
	}
	for _, part := range parts {
		on.Keep(m.kinds[m.items[part.Item].Kind])
	}
}

// price is what is paid for one more of an offering.
func (m *market) price(offering int) int64 {
	if offering < m.nodes {
		return 0
	}
	return m.costs[offering]
}

// cheapest returns the first of the offerings to be bought that has so much room and is accepted, or -1
// where none below a number is.
func (m *market) cheapest(on bitset.Set, need []int64, below int, accept func(int) bool) int {
	for w, v := range on {
		for ; v != 0; v &= v - 1 {
			j := w*64 + bits.TrailingZeros64(v)
			if j >= below {
				return -1
			}
			if j >= m.nodes && fits(need, m.roomOf(j)) && accept(j) {
				return j
			}
		}
	}
	return -1
}

func fits(need, room []int64) bool {
	for r, v := range need {
		if v > room[r] {
			return false
		}
	}
	return true
}
