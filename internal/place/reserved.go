package place

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// SettleReserved puts pods onto the nodes where room was kept for them.
func (s *Placer) SettleReserved() {
	for _, c := range s.Classes() {
		if len(c.Nodes) == 0 || c.Missing.Missed() {
			continue
		}
		for l, ok := (assign.Level{}), true; ok && c.Left > 0; l, ok = c.Next(l, func(l assign.Level) bool { return s.anyReserved(c, l) }) {
			s.fillReserved(c, l)
		}
	}
}

// fillReserved puts pods of the class onto the nodes that it names.
func (s *Placer) fillReserved(c *assign.Class, l assign.Level) {
	o, ok := s.OptionsAt(c, l)
	if !ok {
		return
	}
	for i := range s.Existing() {
		for c.Left > 0 && s.reservedOn(c, o, l, i) {
			s.Put(c, i, l, 1)
		}
	}
}

// anyReserved reports whether a node that the class names takes a pod of it.
func (s *Placer) anyReserved(c *assign.Class, l assign.Level) bool {
	o, ok := s.OptionsAt(c, l)
	for i := range s.Existing() {
		if ok && s.reservedOn(c, o, l, i) {
			return true
		}
	}
	return false
}

// reservedOn reports whether the class names the node and the node takes a pod of it.
// Those that must share a node with others are taken to come with them: the plan that
// kept the room was for all of them.
func (s *Placer) reservedOn(c *assign.Class, o *model.Options, l assign.Level, i int) bool {
	n := s.Existing()[i]
	if !slices.Contains(c.Nodes, n.Name) || s.RoomAlone(c, o, i, 1) == 0 {
		return false
	}
	_, ok := s.Admits(c, topology.AssignmentOf(c.Keys, n.Node), l.Relaxed)
	return ok
}
