package colgen

import "github.com/packhorse-io/terraform-provider-packhorse/internal/amount"

// Single fills machines one by one, each with its own room and items.
type Single struct {
	filler
	kind  [1]Kind
	relax [1]*relaxation
}

// NewSingle prepares to fill machines with the items, whose counts may be changed
// from one machine to the next.
func NewSingle(items []Item) *Single {
	s := &Single{relax: [1]*relaxation{{}}}
	s.filler = filler{items: items, kinds: s.kind[:], relax: s.relax[:]}
	return s
}

// Ceiling returns what no content of a machine with so much room is worth more than.
func (s *Single) Ceiling(room []int64, prices []float64) float64 {
	k := &s.kind[0]
	k.Items = k.Items[:0]
	for i, l := range s.items {
		if l.Count > 0 && amount.Copies(l.Need, room, 1) > 0 {
			k.Items = append(k.Items, i)
		}
	}
	k.Room = room
	k.Room = usable(k, s.items)
	s.relax[0].reset(s.items, k)
	return s.ceiling(0, prices)
}

// Fill returns a content of a machine with so much room that is worth much; nothing
// where nothing of value fits.
func (s *Single) Fill(room []int64, prices []float64) []Part {
	if s.Ceiling(room, prices) <= 0 {
		return nil
	}
	s.fill(0, prices, hasty)
	return s.pattern(0).Parts
}
