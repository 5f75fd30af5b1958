package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// settleReserved puts pods onto the nodes where room was kept for them.
func (s *placer) settleReserved() {
	for _, c := range s.classes {
		if len(c.Nodes) == 0 || c.never.Missed() {
			continue
		}
		for l, ok := (level{}), true; ok && c.left > 0; l, ok = c.next(l, func(l level) bool { return s.anyReserved(c, l) }) {
			s.fillReserved(c, l)
		}
	}
}

// fillReserved puts pods of the class onto the nodes that it names.
func (s *placer) fillReserved(c *class, l level) {
	o, ok := s.optionsAt(c, l)
	if !ok {
		return
	}
	for i, n := range s.nodes {
		for c.left > 0 && s.reservedOn(c, o, l, i) {
			s.put(c, n, l, 1)
			s.state.EnterNode(c.Rules, topology.AssignmentOf(c.Keys, n.Node), n.Node, 1)
		}
	}
}

// anyReserved reports whether a node that the class names takes a pod of it.
func (s *placer) anyReserved(c *class, l level) bool {
	o, ok := s.optionsAt(c, l)
	for i := range s.nodes {
		if ok && s.reservedOn(c, o, l, i) {
			return true
		}
	}
	return false
}

// reservedOn reports whether the class names the node and the node takes a pod of it.
// Those that must share a node with others are taken to come with them: the plan that
// kept the room was for all of them.
func (s *placer) reservedOn(c *class, o *model.Options, l level, i int) bool {
	n := s.nodes[i]
	if !slices.Contains(c.Nodes, n.Name) || s.roomAlone(c, o, i, 1) == 0 {
		return false
	}
	_, ok := s.admits(c, topology.AssignmentOf(c.Keys, n.Node), l.relaxed)
	return ok
}
