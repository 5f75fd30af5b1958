package pack

import "slices"

// wish is what somebody wants to buy for: any of the options' columns, with so
// much room.
type wish struct {
	opt  *options
	need []int64
}

// rivals lists what to buy for the wishes: of the columns that exactly the same
// wishes allow, those of which no cheaper one has as much room. Where a limit
// counts capacity, a dearer one may be needed: then of each shape the cheapest.
func (s *solver) rivals(wishes []wish, sellers []*seller, b budget) []int {
	masks, needed := distinctMasks(wishes), s.needed(wishes)
	alike := !slices.Contains(s.choices, true) // labels do not tell columns of the same wishes apart
	known := map[string]*rivalry{}
	var out []int
	key := make([]byte, (len(masks)+7)/8+1)
	for _, p := range sellers {
		clear(known)
		var r *rivalry
		for k := p.columns[0]; k < p.columns[1]; k++ { // cheapest first
			if !s.keyOf(k, masks, key) {
				continue
			}
			if r == nil || r.key != string(key) { // mostly it is the same
				if r = known[string(key)]; r == nil {
					r = &rivalry{key: string(key), shapes: newBitset(len(s.shapes))}
					known[r.key] = r
				}
			}
			if shape := s.columns[k].number; r.shapes.has(shape) {
				continue
			} else if r.shapes.add(shape); alike && b[p.index] == nil && s.needless(k, r.columns, needed) {
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
	shapes  bitset
}

// keyOf writes which masks have the column, and reports whether any has.
func (s *solver) keyOf(k int, masks []bitset, key []byte) bool {
	clear(key)
	some := false
	for i, m := range masks {
		if m.has(k) {
			key[i/8] |= 1 << (i % 8)
			some = true
		}
	}
	if s.columns[k].special {
		key[len(key)-1] = 1
	}
	return some
}

// needed lists the resources that the wishes need.
func (s *solver) needed(wishes []wish) []int {
	var out []int
	for r := range s.space.names {
		if slices.ContainsFunc(wishes, func(w wish) bool { return w.need[r] > 0 }) {
			out = append(out, r)
		}
	}
	return out
}

// needless reports whether column k has nothing needed that one of the cheaper
// ones does not have. The last of them are most likely to have as much.
func (s *solver) needless(k int, cheaper, needed []int) bool {
	y := &s.columns[k]
next:
	for _, j := range slices.Backward(cheaper) {
		x := &s.columns[j]
		for _, r := range needed {
			if y.room[r] > x.room[r] {
				continue next
			}
		}
		if slices.Equal(x.daemons, y.daemons) {
			return true
		}
	}
	return false
}

// distinctMasks lists the sets of columns that the wishes' requirements allow.
func distinctMasks(wishes []wish) []bitset {
	seen := map[int]bool{}
	var out []bitset
	for _, w := range wishes {
		if !seen[w.opt.id] {
			seen[w.opt.id] = true
			out = append(out, w.opt.columns)
		}
	}
	return out
}
