package place

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// PlaceReserved puts pods onto the nodes where room was kept for them.
func (pl *Placer) PlaceReserved() {
	for _, c := range pl.Classes() {
		if len(c.Nodes) == 0 || c.Missing.Missed() {
			continue
		}
		for l, ok := c.FirstLevel(0), true; ok && c.Left > 0; l, ok = c.Next(l, func(l assign.Level) bool { return pl.anyReserved(c, l) }) {
			pl.fillReserved(c, l)
		}
	}
}

// fillReserved puts pods of the class onto the nodes that it names.
func (pl *Placer) fillReserved(c *assign.Class, l assign.Level) {
	o, ok := pl.OptionsAt(c, l)
	if !ok {
		return
	}
	for i := range pl.Existing() {
		for c.Left > 0 && pl.reservedOn(c, o, l, i) {
			pl.Put(c, i, l, 1)
		}
	}
}

// anyReserved reports whether a node that the class names takes a pod of it.
func (pl *Placer) anyReserved(c *assign.Class, l assign.Level) bool {
	o, ok := pl.OptionsAt(c, l)
	for i := range pl.Existing() {
		if ok && pl.reservedOn(c, o, l, i) {
			return true
		}
	}
	return false
}

// reservedOn reports whether the class names the node and the node takes a pod of it.
// Those that must share a node with others are taken to come with them: the plan that
// kept the room was for all of them.
func (pl *Placer) reservedOn(c *assign.Class, o *model.Options, l assign.Level, i int) bool {
	n := pl.Existing()[i]
	if !slices.Contains(c.Nodes, n.Name) || pl.RoomAlone(c, o, i, 1) == 0 {
		return false
	}
	_, ok := pl.Admits(c, topology.AssignmentOf(c.Keys, n.Node), l.Relaxed)
	return ok
}
