package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// A catalogue with very many sizes has many that are nearly alike. To look at all of
// them takes longer, and finds nothing better than to look at some of every size: once
// it is filled, a machine becomes the cheapest that holds its content, of all there are.

const (
	// pruneAbove is how many candidates are few enough.
	pruneAbove = 512
	// nearlyAs is the part of another one's room that is nearly as much.
	nearlyAs = 0.95
	// asGood is by how much the price per unit of an offering may be above that of one as good.
	asGood = 1 + 1e-3
)

// prune leaves of very many candidates those each of which has more room than the
// smaller ones that the same pod groups allow, or has it at a better price per unit.
func (c *purchase) prune() {
	if len(c.candidates) <= pruneAbove || !c.s.Uses(assign.Thin) {
		return
	}
	c.price()
	kept := map[string][]int{} // by the pod groups that allow them: places in offerings
	key := make([]byte, (len(c.masks)+7)/8+1)
	var offerings []int
	for j, k := range c.candidates {
		c.s.keyOf(k, c.masks, key)
		same := kept[string(key)]
		if !slices.ContainsFunc(same, func(i int) bool { return c.nearly(i, j) }) {
			kept[string(key)] = append(same, j)
			offerings = append(offerings, k)
		}
	}
	c.candidates, c.most, c.pricing = offerings, c.most[:len(offerings)], price.New(c.s.Supply, offerings, c.nodeCost())
}

// nearly reports whether candidate i is as good as j and has nearly as much room.
func (c *purchase) nearly(i, j int) bool {
	x, y := &c.s.Offerings[c.candidates[i]], &c.s.Offerings[c.candidates[j]]
	if x.Pool != y.Pool || c.perUnit[i] > c.perUnit[j]*asGood {
		return false
	}
	for r, room := range y.Room {
		if float64(x.Room[r]) < float64(nearlyAs*float64(room)) {
			return false
		}
	}
	return slices.Equal(x.DaemonSets, y.DaemonSets)
}
