package place

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// ServesAt reports whether a pod of the class can be placed at the level now, as far as
// that can be seen without placing it.
func (pl *Placer) ServesAt(c *assign.Class, l assign.Level) bool {
	o, ok := pl.OptionsAt(c, l)
	switch {
	case !ok:
		return false
	case len(c.Follows()) > 0:
		return pl.mayHold(c, o) // those that it follows are placed together with it
	case len(c.Keys) > 0:
		return pl.bestDomain(c, pl.servingDomains(c, l), l.Relaxed) >= 0
	}
	for i := range pl.Existing() {
		if pl.RoomOn(c, o, i, 1) > 0 {
			return true
		}
	}
	of, ok := pl.GroupFor(c, l, o)
	if !ok {
		return false
	}
	_, ok = pl.BestRank(of.Mask, pl.Remaining())
	return ok || pl.hasRoom(of)
}

// MayServe reports whether any node or offering meets what the level asks of labels and taints, and has room for a pod.
func (pl *Placer) MayServe(c *assign.Class, l assign.Level) bool {
	o, ok := pl.OptionsAt(c, l)
	return ok && pl.mayHold(c, o)
}

// mayHold reports whether any node or offering that the options allow has room for a pod.
func (pl *Placer) mayHold(c *assign.Class, o *model.Options) bool {
	for i := range pl.Existing() {
		if pl.RoomAlone(c, o, i, 1) > 0 {
			return true
		}
	}
	return !pl.Fitting(c.Need, c.PerNode, c.AllowDevices, o).Empty()
}

// servingDomains lists the domain choices of the class that have a node with room or something to buy.
func (pl *Placer) servingDomains(c *assign.Class, l assign.Level) []domainChoice {
	var out []domainChoice
	for _, at := range pl.domainChoices(c, l) {
		if _, ok := pl.nodeIn(c, &at); ok || at.group != nil {
			out = append(out, at)
		}
	}
	return out
}
