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
func (r *request) prune() {
	if len(r.candidates) <= pruneAbove || !r.Uses(assign.Prune) {
		return
	}
	d := price.NewDemand(len(r.Space.Names))
	for _, g := range r.asked {
		d.Add(g.Need, g.N)
	}
	perUnit := r.pricing.Price(d).PerUnit
	kept := map[string][]int{} // by the pod groups that allow them: places in candidates
	key := make([]byte, (len(r.masks)+7)/8+1)
	var offerings []int
	for j, k := range r.candidates {
		r.keyOf(k, r.masks, key)
		same := kept[string(key)]
		if !slices.ContainsFunc(same, func(i int) bool { return perUnit[i] <= perUnit[j]*asGood && r.nearly(r.candidates[i], k) }) {
			kept[string(key)] = append(same, j)
			offerings = append(offerings, k)
		}
	}
	r.candidates, r.pricing = offerings, price.New(r.Supply, offerings)
}

// nearly reports whether offering i has nearly as much room as j and can be bought for the same
// pods.
func (r *request) nearly(i, j int) bool {
	x, y := &r.Offerings[i], &r.Offerings[j]
	if x.Pool != y.Pool || x.Offer.Reservation != y.Offer.Reservation {
		return false
	}
	for k, room := range y.Room {
		if float64(x.Room[k]) < float64(nearlyAs*float64(room)) {
			return false
		}
	}
	return slices.Equal(r.State.DaemonsOn(i), r.State.DaemonsOn(j))
}
