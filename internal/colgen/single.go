package colgen

import "github.com/packhorse-io/terraform-provider-packhorse/internal/amount"

// Single fills machines one by one, each with its own room and loads.
type Single struct {
	filler
	kind  [1]Kind
	relax [1]*relaxation
}

// NewSingle prepares to fill machines with the loads, whose counts may be changed
// from one machine to the next.
func NewSingle(loads []Load) *Single {
	s := &Single{relax: [1]*relaxation{{}}}
	s.filler = filler{loads: loads, kinds: s.kind[:], relax: s.relax[:]}
	return s
}

// Ceiling returns what no content of a machine with so much room is worth more than.
func (s *Single) Ceiling(room []int64, worth []float64) float64 {
	k := &s.kind[0]
	k.Loads = k.Loads[:0]
	for i, l := range s.loads {
		if l.Count > 0 && amount.Copies(l.Need, room, 1) > 0 {
			k.Loads = append(k.Loads, i)
		}
	}
	k.Room = room
	k.Room = usable(k, s.loads)
	s.relax[0].reset(s.loads, k)
	return s.ceiling(0, worth)
}

// Fill returns a content of a machine with so much room that is worth much; nothing
// where nothing of worth fits.
func (s *Single) Fill(room []int64, worth []float64) []Part {
	if s.Ceiling(room, worth) <= 0 {
		return nil
	}
	s.fill(0, worth, hasty)
	return s.pattern(0).Parts
}
