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
	// By offering, first the nodes and then the cheapest first:
	order []int // index of Problem.Offerings
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
	k := market{items: p.Items, order: make([]int, len(p.Offerings)), place: make([]int, len(p.Offerings))}
	var used []int
	for r := range p.Items[0].Need {
		if slices.ContainsFunc(p.Items, func(it Item) bool { return it.Need[r] > 0 }) {
			used = append(used, r)
		}
	}
	k.width = len(used)
	for i := range p.Items {
		k.need = appendOf(k.need, p.Items[i].Need, used)
	}
	for j := range k.order {
		k.order[j] = j
	}
	slices.SortStableFunc(k.order, func(a, b int) int {
		if x, y := &p.Offerings[a], &p.Offerings[b]; x.Node == y.Node {
			return cmp.Compare(x.Cost, y.Cost)
		} else if x.Node {
			return -1
		}
		return 1
	})
	for at, j := range k.order {
		o := &p.Offerings[j]
		if o.Node {
			k.nodes++
		}
		k.place[j] = at
		k.costs, k.limit, k.uses = append(k.costs, o.Cost), append(k.limit, o.Limit), append(k.uses, o.Uses)
		k.room = appendOf(k.room, o.Room, used)
	}
	for _, kind := range p.Kinds {
		of := bitset.New(len(k.order))
		for _, j := range kind {
			of.Add(k.place[j])
		}
		k.kinds = append(k.kinds, of)
	}
	k.rank(used)
	return k
}

func appendOf(list, values []int64, at []int) []int64 {
	for _, r := range at {
		list = append(list, values[r])
	}
	return list
}

// rank sorts the offerings of each kind and sets the densities.
func (k *market) rank(used []int) {
	ratio, price := make([]float64, len(k.order)), make([]float64, k.width)
	k.density = make([]float64, len(k.order)*len(k.items))
	for j := range k.order {
		clear(price)
		for i := range k.items {
			if it := &k.items[i]; k.kinds[it.Kind].Has(j) {
				for r, at := range used {
					price[r] = max(price[r], it.Price[at])
				}
			}
		}
		ratio[j] = valueOf(k.roomOf(j), price) / float64(k.costs[j])
		for i := range k.items {
			if it := &k.items[i]; k.kinds[it.Kind].Has(j) {
				k.density[j*len(k.items)+i] = it.Value / max(valueOf(k.needOf(i), price), leastValue)
			}
		}
	}
	for _, kind := range k.kinds {
		var able []int
		for j := k.nodes; j < len(k.order); j++ {
			if kind.Has(j) {
				able = append(able, j)
			}
		}
		slices.SortStableFunc(able, func(a, b int) int { return cmp.Compare(ratio[b], ratio[a]) })
		k.ranked = append(k.ranked, able)
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

func (k *market) roomOf(offering int) []int64 { return k.room[offering*k.width:][:k.width] }
func (k *market) needOf(item int) []int64     { return k.need[item*k.width:][:k.width] }

// copies returns how many items of an item the room holds, at most n.
func (k *market) copies(item int, room []int64, n int64) int64 {
	need := k.need[item*k.width:][:len(room)]
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
func (k *market) masked(on bitset.Set, parts []Part) {
	for w := range on {
		on[w] = math.MaxUint64
	}
	for _, part := range parts {
		on.Keep(k.kinds[k.items[part.Item].Kind])
	}
}

// price is what is paid for one more of an offering.
func (k *market) price(offering int) int64 {
	if offering < k.nodes {
		return 0
	}
	return k.costs[offering]
}

// cheapest returns the first of the offerings to be bought that has so much room and is accepted, or -1
// where none below a number is.
func (k *market) cheapest(on bitset.Set, need []int64, below int, accept func(int) bool) int {
	for w, v := range on {
		for ; v != 0; v &= v - 1 {
			j := w*64 + bits.TrailingZeros64(v)
			if j >= below {
				return -1
			}
			if j >= k.nodes && fits(need, k.roomOf(j)) && accept(j) {
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
