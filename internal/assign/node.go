package assign

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
	Free []int64
}

// findNodes begins with the nodes as if nothing ran on them.
func (s *Assignment) findNodes() {
	for _, n := range s.Nodes {
		view := &topology.NodeView{Node: n, Counts: s.State.AttachLimits(n.Node)}
		s.ExistingNodes, s.State.Nodes = append(s.ExistingNodes, &node{view, s.Space.Vector(n.Allocatable)}), append(s.State.Nodes, view)
	}
	for _, n := range s.Closed {
		view := &topology.NodeView{Node: n}
		s.ClosedNodes, s.State.Closed = append(s.ClosedNodes, &node{view, s.Space.Vector(n.Allocatable)}), append(s.State.Closed, view)
	}
}

// occupy takes the room that running pods use, and counts them where
// constraints look at them.
func (s *Assignment) occupy() {
	nodes := slices.Concat(s.ExistingNodes, s.ClosedNodes)
	byName := make(map[string]*node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	daemons := map[*node]map[string]bool{}
	for _, p := range s.Standing {
		n := byName[cmp.Or(p.NodeName, p.NominatedNode)]
		if n == nil {
			continue
		}
		model.AddTimes(n.Free, s.Running[p.Template].need, -1)
		n.Counts = n.Counts.Plus(s.Running[p.Template].volumes, 1)
		if p.Owner.Kind == "DaemonSet" {
			if daemons[n] == nil {
				daemons[n] = map[string]bool{}
			}
			daemons[n][p.Namespace+"/"+p.Owner.Name] = true
		}
		if p.State != cluster.PodTerminating {
			s.State.Occupy(n.NodeView, &s.Running[p.Template].Resident)
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
		model.AddTimes(n.Free, d.Need, -1)
		if s.State.TakesResident(n.NodeView, s.State.Daemons[i]) { // others may keep it off for good
			s.State.Occupy(n.NodeView, s.State.Daemons[i])
		}
	}
}

// CmpBool puts false before true.
func CmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
