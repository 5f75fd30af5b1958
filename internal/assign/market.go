package assign

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Market is what may be bought for the pods of a problem, and the rules by which items come
// onto machines.
type Market struct {
	*model.Supply
	State   *topology.State
	without []Heuristic
	few     bool // so few classes that it is quicker to look at all offerings

	held   map[string]model.Bitset // offerings, see holding
	byRoom []*rooms                // by resource; made when asked for
	Key    []byte                  // scratch
	Roomy  model.Bitset            // scratch, see RoomFor
}

// rememberFits begins to remember which offerings have room for what. All of them have the room that they will have.
func (mk *Market) rememberFits() {
	mk.held, mk.byRoom = map[string]model.Bitset{}, make([]*rooms, len(mk.Space.Names))
}

// Tiers returns the pools of each weight, the highest first.
func (mk *Market) Tiers() [][]*model.Pool {
	sorted := slices.SortedStableFunc(slices.Values(mk.Selling), func(a, b *model.Pool) int { return cmp.Compare(b.Weight, a.Weight) })
	var out [][]*model.Pool
	for i, p := range sorted {
		if i == 0 || sorted[i-1].Weight != p.Weight {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// Uses reports whether a heuristic has not been left out.
func (mk *Market) Uses(h Heuristic) bool { return !slices.Contains(mk.without, h) }

// BestRank returns the best of the offerings: of the Provisioners of the highest weight
// the cheapest, or false where limits allow none.
func (mk *Market) BestRank(mask model.Bitset, limits RemainingLimits) (Rank, bool) {
	best, ok := Rank{}, false
	for _, p := range mk.Selling {
		if limits.Spent(p) {
			continue
		}
		for k := range mask.Within(p.Offerings) { // cheapest first
			if !limits.Allows(&mk.Offerings[k]) {
				continue
			}
			if this := (Rank{Weight: p.Weight, Price: mk.Offerings[k].Price}); !ok || this.Compare(best) < 0 {
				best, ok = this, true
			}
			break
		}
	}
	return best, ok
}

// Rank orders what may be bought: by the weight of the Provisioner, then by whether it is in the
// zone that the pods prefer, then by the price.
type Rank struct {
	Weight    int32 // of the Provisioner
	Elsewhere bool  // outside the preferred zone
	Price     int64
}

// Compare puts the higher weight first, then the zone that is preferred, then the lower price.
func (a Rank) Compare(b Rank) int {
	return cmp.Or(cmp.Compare(b.Weight, a.Weight), model.CmpBool(a.Elsewhere, b.Elsewhere), cmp.Compare(a.Price, b.Price))
}

// SamePriced lists the offerings of the same type, price and label choice. They are near each
// other, because offerings are sorted by price and type.
func (mk *Market) SamePriced(offering int) []int {
	own := &mk.Offerings[offering]
	same := func(k int) bool {
		return k >= 0 && k < len(mk.Offerings) && mk.Offerings[k].Pool == own.Pool && mk.Offerings[k].TypeIndex == own.TypeIndex && mk.Offerings[k].Price == own.Price
	}
	first := offering
	for same(first - 1) {
		first--
	}
	var out []int
	for k := first; same(k); k++ {
		if mk.Offerings[k].LabelChoiceIndex == own.LabelChoiceIndex {
			out = append(out, k)
		}
	}
	return out
}

// Counted returns how much of a resource a machine of an offering counts against limits,
// whichever of those that are offered with it is bought.
func (mk *Market) Counted(offering int, resource string) int64 {
	of := &mk.Offerings[offering]
	if id := of.Offer.Reservation; id != "" && resource == offer.ReservationResource(id) {
		return 1
	}
	has := mk.Pools[of.Pool].Catalogue.Capacity[resource]
	if has == nil {
		return 0
	}
	most := has[of.TypeIndex]
	for _, j := range of.With {
		most = max(most, has[mk.Offerings[j].TypeIndex])
	}
	return most
}

// AddHighest adds the offerings of a set that weights allow.
func (mk *Market) AddHighest(to, set model.Bitset) {
	for _, tier := range mk.Tiers() {
		open := false
		for _, pool := range tier {
			for k := range set.Within(pool.Offerings) {
				to.Add(k)
				open = open || pool.Limits == nil
			}
		}
		if open {
			return
		}
	}
}

// FirstOf returns the pool of the highest weight that has something of the set; nil
// where several have.
func (mk *Market) FirstOf(set model.Bitset) *model.Pool {
	for _, tier := range mk.Tiers() {
		var first *model.Pool
		for _, p := range tier {
			if set.AnyIn(p.Offerings) {
				if first != nil {
					return nil
				}
				first = p
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// Admits reports whether another pod of the class may enter the domains, and how many
// pods are there by which domains are compared.
func (mk *Market) Admits(c *Class, at *topology.DomainAssignment, relaxed topology.Relaxed) (int64, bool) {
	if c.Missing.Kind == match.Exhausted {
		return 0, false // what it asks for has not been looked at
	}
	return mk.State.Admits(c.Rules, at, relaxed)
}

// Uncount takes back what was counted for k items of a pod group that are not bought for.
func (mk *Market) Uncount(g *PodGroup, k int64) {
	if g.At == nil {
		return
	}
	for _, p := range g.Parts {
		mk.State.Enter(p.Class.Rules, g.At, g.Opt.Requires, -k*p.N)
	}
}

// FollowsClass reports whether pods of the class must share a node with pods of the target.
func (mk *Market) FollowsClass(c, target *Class) bool {
	return slices.ContainsFunc(c.Follows(), func(f *topology.NodeAffinity) bool { return target.Belongs(f.Group()) })
}
