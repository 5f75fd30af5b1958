package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/colgen"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// wish is what somebody wants to buy for: any of the options' columns, with so
// much room.
type wish struct {
	opt  *model.Options
	need []int64
}

// rivals lists what to buy for the wishes: of the columns that exactly the same
// wishes allow, those of which no cheaper one has as much room. Where a limit
// counts capacity, a dearer one may be needed: then of each shape the cheapest.
func (s *Market) rivals(wishes []wish, sellers []*model.Pool, b budget) []int {
	masks, needed := distinctMasks(wishes), s.needed(wishes)
	alike := s.uses(Dominated) && !slices.Contains(s.Choices, true) // labels do not tell columns of the same wishes apart
	known := map[string]*rivalry{}
	var out []int
	key := make([]byte, (len(masks)+7)/8+1)
	for _, p := range sellers {
		clear(known)
		var r *rivalry
		for k := p.Offerings[0]; k < p.Offerings[1]; k++ { // cheapest first
			if !s.keyOf(k, masks, key) {
				continue
			}
			if r == nil || r.key != string(key) { // mostly it is the same
				if r = known[string(key)]; r == nil {
					r = &rivalry{key: string(key), shapes: model.NewBitset(len(s.Shapes))}
					known[r.key] = r
				}
			}
			if shape := s.Offerings[k].Number; r.shapes.Has(shape) {
				continue
			} else if r.shapes.Add(shape); alike && b[p.Number] == nil && s.needless(k, r.columns, needed) {
				continue
			}
			r.columns = append(r.columns, k)
			out = append(out, k)
		}
	}
	return out
}

// rivalry is what was seen of columns that the same wishes allow.
type rivalry struct {
	key     string
	columns []int // that are not needless
	shapes  model.Bitset
}

// keyOf writes which masks have the column, and reports whether any has.
func (s *Market) keyOf(k int, masks []model.Bitset, key []byte) bool {
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

// needed lists the resources that the wishes need.
func (s *Market) needed(wishes []wish) []int {
	var out []int
	for r := range s.Space.Names {
		if slices.ContainsFunc(wishes, func(w wish) bool { return w.need[r] > 0 }) {
			out = append(out, r)
		}
	}
	return out
}

// needless reports whether column k has nothing needed that one of the cheaper
// ones does not have. The last of them are most likely to have as much.
func (s *Market) needless(k int, cheaper, needed []int) bool {
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

// distinctMasks lists the sets of columns that the wishes' requirements allow.
func distinctMasks(wishes []wish) []model.Bitset {
	seen := map[int]bool{}
	var out []model.Bitset
	for _, w := range wishes {
		if !seen[w.opt.ID] {
			seen[w.opt.ID] = true
			out = append(out, w.opt.Offerings)
		}
	}
	return out
}

// kindsOf states columns, each of which holds the loads whose masks have it.
func (s *Market) kindsOf(columns []int, masks []model.Bitset, nodeCost int64) []colgen.Kind {
	out := make([]colgen.Kind, len(columns))
	for j, k := range columns {
		out[j] = colgen.Kind{Room: s.Offerings[k].Room, Cost: s.Offerings[k].Price + nodeCost}
		for i, m := range masks {
			if m.Has(k) {
				out[j].Loads = append(out[j].Loads, i)
			}
		}
	}
	return out
}
