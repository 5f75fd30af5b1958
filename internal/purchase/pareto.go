package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// ask is what somebody wants to buy for: any of the options' offerings, with so
// much room.
type ask struct {
	opt  *model.Options
	need []int64
}

// paretoFront lists what to buy for the asks: of the offerings that exactly the same
// asks allow, those of which no cheaper one has as much room. Where a limit
// counts capacity, a more expensive one may be needed: then of each shape the cheapest that
// the limit allows.
func (s *buyer) paretoFront(asks []ask, pools []*model.Pool, b assign.RemainingLimits) []int {
	masks, needed := distinctMasks(asks), s.needed(asks)
	alike := s.Uses(assign.Dominated) && !slices.Contains(s.Choices, true) // labels do not tell offerings of the same asks apart
	known := map[string]*front{}
	var out []int
	key := make([]byte, (len(masks)+7)/8+1)
	for _, p := range pools {
		clear(known)
		var r *front
		for k := p.Offerings[0]; k < p.Offerings[1]; k++ { // cheapest first
			if b.Affords(&s.Offerings[k], 1) == 0 || !s.keyOf(k, masks, key) {
				continue
			}
			if r == nil || r.key != string(key) { // mostly it is the same
				if r = known[string(key)]; r == nil {
					r = &front{key: string(key), shapes: model.NewBitset(len(s.Shapes))}
					known[r.key] = r
				}
			}
			if shape := s.Offerings[k].Number; r.shapes.Has(shape) {
				continue
			} else if r.shapes.Add(shape); alike && b[p.Number] == nil && s.needless(k, r.offerings, needed) {
				continue
			}
			r.offerings = append(r.offerings, k)
			out = append(out, k)
		}
	}
	return out
}

// front is what was seen of offerings that the same asks allow.
type front struct {
	key       string
	offerings []int // that are not needless
	shapes    model.Bitset
}

// keyOf writes which masks have the offering, and reports whether any has.
func (s *buyer) keyOf(k int, masks []model.Bitset, key []byte) bool {
	clear(key)
	some := false
	for i, m := range masks {
		if m.Has(k) {
			key[i/8] |= 1 << (i % 8)
			some = true
		}
	}
	if s.Offerings[k].Special {
		key[len(key)-1] = 1
	}
	return some
}

// needed lists the resources that the asks need.
func (s *buyer) needed(asks []ask) []int {
	var out []int
	for r := range s.Space.Names {
		if slices.ContainsFunc(asks, func(w ask) bool { return w.need[r] > 0 }) {
			out = append(out, r)
		}
	}
	return out
}

// needless reports whether offering k has nothing needed that one of the cheaper
// ones does not have. The last of them are most likely to have as much.
func (s *buyer) needless(k int, cheaper, needed []int) bool {
	y := &s.Offerings[k]
next:
	for _, j := range slices.Backward(cheaper) {
		x := &s.Offerings[j]
		for _, r := range needed {
			if y.Room[r] > x.Room[r] {
				continue next
			}
		}
		if slices.Equal(x.DaemonSets, y.DaemonSets) {
			return true
		}
	}
	return false
}

// distinctMasks lists the sets of offerings that the asks' requirements allow.
func distinctMasks(asks []ask) []model.Bitset {
	seen := map[int]bool{}
	var out []model.Bitset
	for _, w := range asks {
		if !seen[w.opt.ID] {
			seen[w.opt.ID] = true
			out = append(out, w.opt.Offerings)
		}
	}
	return out
}

// kindsOf states offerings, each of which holds the items whose masks have it.
func (s *buyer) kindsOf(offerings []int, masks []model.Bitset, nodeCost int64) []colgen.Kind {
	out := make([]colgen.Kind, len(offerings))
	for j, k := range offerings {
		out[j] = colgen.Kind{Room: s.Offerings[k].Room, Cost: s.Offerings[k].Price + nodeCost}
		for i, m := range masks {
			if m.Has(k) {
				out[j].Items = append(out[j].Items, i)
			}
		}
	}
	return out
}
