package pack

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// maxProbes bounds how often a class asks whether a set of preferences can be met.
// Beyond that it gives up all of them at once.
const maxProbes = 512

// servesAt reports whether a pod of the class can be placed at the level now, as far as
// that can be told without placing it.
func (s *placer) servesAt(c *class, l level) bool {
	o, ok := s.optionsAt(c, l)
	switch {
	case !ok:
		return false
	case len(c.Follows()) > 0:
		return s.mayHold(c, o) // those that it follows are placed together with it
	case len(c.Keys) > 0:
		return s.bestSpot(c, s.servingSpots(c, o, l), l.relaxed) >= 0
	}
	for i := range s.nodes {
		if s.roomOn(c, o, i, 1) > 0 {
			return true
		}
	}
	of, ok := s.lotFor(c, l, o)
	if !ok {
		return false
	}
	_, ok = s.bargainOf(of.mask, s.budgets())
	return ok || s.hasRoom(of)
}

// mayHold reports whether any node or column that the options allow has room for a pod.
func (s *placer) mayHold(c *class, o *model.Options) bool {
	for i := range s.nodes {
		if s.roomAlone(c, o, i, 1) > 0 {
			return true
		}
	}
	return !s.fitting(c.Need, c.PerNode, c.devices, o).Empty()
}

// servingSpots lists the spots of the class that have a node with room or something to buy.
func (s *placer) servingSpots(c *class, o *model.Options, l level) []spot {
	var out []spot
	for _, at := range s.spotsFor(c, o, l) {
		if _, ok := s.nodeIn(c, o, &at); ok || at.lot != nil {
			out = append(out, at)
		}
	}
	return out
}
