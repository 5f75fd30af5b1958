package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// node is a node that exists or will, with the room that is left.
type node struct {
	*topology.NodeView
	free []int64
}

// findNodes begins with the nodes as if nothing ran on them.
func (s *Assignment) findNodes() {
	for _, n := range s.Nodes {
		view := &topology.NodeView{Node: n, Counts: s.state.AttachLimits(n.Node)}
		s.nodes, s.state.Nodes = append(s.nodes, &node{view, s.Space.Vector(n.Allocatable)}), append(s.state.Nodes, view)
	}
	for _, n := range s.Closed {
		view := &topology.NodeView{Node: n}
		s.closed, s.state.Closed = append(s.closed, &node{view, s.Space.Vector(n.Allocatable)}), append(s.state.Closed, view)
	}
}

// occupy takes the room that running pods use, and counts them where
// constraints look at them.
func (s *Assignment) occupy() {
	nodes := slices.Concat(s.nodes, s.closed)
	byName := make(map[string]*node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	daemons := map[*node]map[string]bool{}
	for _, p := range s.standing {
		n := byName[cmp.Or(p.NodeName, p.NominatedNode)]
		if n == nil {
			continue
		}
		model.AddTimes(n.free, s.running[p.Template].need, -1)
		n.Counts = n.Counts.Plus(s.running[p.Template].volumes, 1)
		if p.Owner.Kind == "DaemonSet" {
			if daemons[n] == nil {
				daemons[n] = map[string]bool{}
			}
			daemons[n][p.Namespace+"/"+p.Owner.Name] = true
		}
		if p.State != cluster.PodTerminating {
			s.state.Occupy(n.NodeView, &s.running[p.Template].Resident)
		}
	}
	for _, n := range nodes {
		s.expectDaemons(n, daemons[n])
	}
}

// expectDaemons keeps room for DaemonSet pods that have not started yet.
func (s *Assignment) expectDaemons(n *node, there map[string]bool) {
	for i := range s.DaemonSets {
		d := &s.DaemonSets[i]
		if there[d.Namespace+"/"+d.Name] || !d.RunsOn(n.Node) {
			continue
		}
		model.AddTimes(n.free, d.Need, -1)
		if s.state.TakesResident(n.NodeView, s.state.Daemons[i]) { // others may keep it off for good
			s.state.Occupy(n.NodeView, s.state.Daemons[i])
		}
	}
}

// cmpBool puts false before true.
func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
