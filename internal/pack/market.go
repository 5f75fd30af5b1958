package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// tiers returns the sellers of each weight, the highest first.
func (s *Market) tiers() [][]*model.Pool {
	sorted := slices.SortedStableFunc(slices.Values(s.Selling), func(a, b *model.Pool) int { return cmp.Compare(b.Weight, a.Weight) })
	var out [][]*model.Pool
	for i, p := range sorted {
		if i == 0 || sorted[i-1].Weight != p.Weight {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

// Market is what may be bought for the pods of a problem, and the rules by which loads come
// onto machines.
type Market struct {
	*model.Supply
	state   *topology.State
	cost    offer.Price // of a machine beyond its price
	without []Heuristic
	few     bool // so few classes that a look at all offerings is the quicker way

	held   map[string]model.Bitset // offerings, see holding
	key    []byte                  // scratch
	roomy  model.Bitset            // scratch, see roomFor
	byRoom []*rooms                // by resource; made when asked for
}

// uses reports whether a heuristic has not been left out.
func (s *Market) uses(h Heuristic) bool { return !slices.Contains(s.without, h) }

// bargainOf returns the best of the columns: of the Provisioners of the highest weight
// the cheapest, or false where limits allow none.
func (s *Market) bargainOf(mask model.Bitset, b budget) (bargain, bool) {
	best, ok := bargain{}, false
	for _, p := range s.Selling {
		for k := range mask.Within(p.Offerings) { // cheapest first
			if b.affords(&s.Offerings[k], 1) == 0 {
				continue
			}
			if this := (bargain{p.Weight, s.Offerings[k].Price}); !ok || this.compare(best) < 0 {
				best, ok = this, true
			}
			break
		}
	}
	return best, ok
}

// bargain is the best that may be bought of a set of columns.
type bargain struct {
	weight int32 // of the Provisioner
	price  int64
}

func (a bargain) compare(b bargain) int {
	return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.price, b.price))
}

// twinColumns lists the columns of the same type and price. They are next to each other,
// because columns are sorted by price and type.
func (s *Market) twinColumns(column int) []int {
	own := &s.Offerings[column]
	same := func(k int) bool {
		return k >= 0 && k < len(s.Offerings) && s.Offerings[k].Pool == own.Pool && s.Offerings[k].TypeIndex == own.TypeIndex && s.Offerings[k].Price == own.Price
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

// counted returns how much of a resource a machine of a column counts against limits,
// whichever of those that are offered with it is bought.
func (s *Market) counted(column int, resource string) int64 {
	of := &s.Offerings[column]
	has := s.Pools[of.Pool].Catalogue.Capacity[resource]
	if has == nil {
		return 0
	}
	most := has[of.TypeIndex]
	for _, j := range of.With {
		most = max(most, has[s.Offerings[j].TypeIndex])
	}
	return most
}

// addHighest adds the offerings of a set that weights allow.
func (s *Market) addHighest(to, set model.Bitset) {
	for _, tier := range s.tiers() {
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

// firstOf returns the pool of the highest weight that has something of the set; nil
// where several have.
func (s *Market) firstOf(set model.Bitset) *model.Pool {
	for _, tier := range s.tiers() {
		var first *model.Pool
		for _, p := range tier {
			if model.AnyIn(set, p.Offerings) {
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
