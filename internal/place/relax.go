package place

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// ServesAt reports whether a pod of the class can be placed at the level now, as far as
// that can be seen without placing it.
func (s *Placer) ServesAt(c *assign.Class, l assign.Level) bool {
	o, ok := s.OptionsAt(c, l)
	switch {
	case !ok:
		return false
	case len(c.Follows()) > 0:
		return s.mayHold(c, o) // those that it follows are placed together with it
	case len(c.Keys) > 0:
		return s.bestDomain(c, s.servingDomains(c, o, l), l.Relaxed) >= 0
	}
	for i := range s.Existing() {
		if s.RoomOn(c, o, i, 1) > 0 {
			return true
		}
	}
	of, ok := s.GroupFor(c, l, o)
	if !ok {
		return false
	}
	_, ok = s.BestRank(of.Mask, s.Remaining())
	return ok || s.hasRoom(of)
}

// mayHold reports whether any node or offering that the options allow has room for a pod.
func (s *Placer) mayHold(c *assign.Class, o *model.Options) bool {
	for i := range s.Existing() {
		if s.RoomAlone(c, o, i, 1) > 0 {
			return true
		}
	}
	return !s.Fitting(c.Need, c.PerNode, c.AllowDevices, o).Empty()
}

// servingDomains lists the domain choices of the class that have a node with room or something to buy.
func (s *Placer) servingDomains(c *assign.Class, o *model.Options, l assign.Level) []domainChoice {
	var out []domainChoice
	for _, at := range s.domainChoices(c, o, l) {
		if _, ok := s.nodeIn(c, o, &at); ok || at.group != nil {
			out = append(out, at)
		}
	}
	return out
}
