package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// cheapest lists what to buy for pods that may have these sets of offerings: of the offerings of
// one shape that are in exactly the same sets, the cheapest that limits allow.
func (by *buyer) cheapest(masks []model.Bitset, pools []*model.Pool, limits assign.RemainingLimits) []int {
	known := map[string]model.Bitset{} // the shapes that were seen, by the masks
	var out []int
	key := make([]byte, (len(masks)+7)/8+1)
	for _, p := range pools {
		if limits.Spent(p) || !slices.ContainsFunc(masks, func(m model.Bitset) bool { return m.AnyIn(p.Offerings) }) {
			continue
		}
		clear(known)
		for k := p.Offerings[0]; k < p.Offerings[1]; k++ { // cheapest first
			if !limits.Allows(&by.Offerings[k]) || !by.keyOf(k, masks, key) {
				continue
			}
			seen, ok := known[string(key)]
			if !ok {
				seen = model.NewBitset(len(by.Shapes))
				known[string(key)] = seen
			}
			if shape := by.Offerings[k].Number; !seen.Has(shape) {
				seen.Add(shape)
				out = append(out, k)
			}
		}
	}
	return out
}

// keyOf writes which masks have the offering, and reports whether any has.
func (by *buyer) keyOf(k int, masks []model.Bitset, key []byte) bool {
	clear(key)
	some := false
	for i, m := range masks {
		if m.Has(k) {
			key[i/8] |= 1 << (i % 8)
			some = true
		}
	}
	if by.Offerings[k].Special {
		key[len(key)-1] = 1
	}
	return some
}

// kindsOf states offerings, each of which holds the items whose masks have it.
func (by *buyer) kindsOf(offerings []int, masks []model.Bitset) []colgen.MachineKind {
	out := make([]colgen.MachineKind, len(offerings))
	for j, k := range offerings {
		out[j] = colgen.MachineKind{Room: by.Offerings[k].Room, Cost: by.Offerings[k].Cost}
		for i, m := range masks {
			if m.Has(k) {
				out[j].Items = append(out[j].Items, i)
			}
		}
	}
	return out
}
