package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// A catalogue with very many sizes has many that are nearly alike. To look at all of
// them takes longer, and finds nothing better than to look at some of every size: once
// it is filled, a machine becomes the cheapest that holds its content, of all there are.

const (
	// thinAbove is how many candidates are few enough.
	thinAbove = 512
	// nearlyAs is the part of another one's room that is nearly as much.
	nearlyAs = 0.95
	// asGood is by how much the rate of a column may be above that of one as good.
	asGood = 1 + 1e-3
)

// thin leaves of very many candidates those each of which has more room than the
// smaller ones that the same lots allow, or has it at a better rate.
func (c *cover) thin() {
	if len(c.columns) <= thinAbove || !c.s.uses(Thin) {
		return
	}
	c.price()
	kept := map[string][]int{} // by the lots that allow them: places in columns
	key := make([]byte, (len(c.masks)+7)/8+1)
	var columns []int
	for j, k := range c.columns {
		c.s.keyOf(k, c.masks, key)
		same := kept[string(key)]
		if !slices.ContainsFunc(same, func(i int) bool { return c.nearly(i, j) }) {
			kept[string(key)] = append(same, j)
			columns = append(columns, k)
		}
	}
	c.columns, c.most, c.pricing = columns, c.most[:len(columns)], price.New(c.s.Supply, columns, c.nodeCost())
}

// nearly reports whether candidate i is as good as j and has nearly as much room.
func (c *cover) nearly(i, j int) bool {
	x, y := &c.s.Offerings[c.columns[i]], &c.s.Offerings[c.columns[j]]
	if x.Pool != y.Pool || c.rate[i] > c.rate[j]*asGood {
		return false
	}
	for r, room := range y.Room {
		if float64(x.Room[r]) < float64(nearlyAs*float64(room)) {
			return false
		}
	}
	return slices.Equal(x.DaemonSets, y.DaemonSets)
}
