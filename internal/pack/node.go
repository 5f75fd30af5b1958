package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// node is a node that exists or will, with the room that is left.
type node struct {
	*model.Node
	free []int64
	host hostState
}

// findNodes begins with the nodes as if nothing ran on them.
func (s *solver) findNodes() {
	for _, n := range s.Nodes {
		s.nodes = append(s.nodes, &node{Node: n, free: s.Space.Vector(n.Allocatable), host: s.groups.attachLimits(n.Node)})
	}
	for _, n := range s.Closed {
		s.closed = append(s.closed, &node{Node: n, free: s.Space.Vector(n.Allocatable)})
	}
}

// occupy takes the room that running pods use, and counts them where
// constraints look at them.
func (s *solver) occupy() {
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
		n.host = n.host.plus(s.running[p.Template].volumes, 1)
		if p.Owner.Kind == "DaemonSet" {
			if daemons[n] == nil {
				daemons[n] = map[string]bool{}
			}
			daemons[n][p.Namespace+"/"+p.Owner.Name] = true
		}
		if p.State != cluster.PodTerminating {
			s.count(n, &s.running[p.Template].resident)
		}
	}
	for _, n := range nodes {
		s.expectDaemons(n, daemons[n])
	}
}

// count adds a running pod to the groups that it belongs to or repels.
func (s *solver) count(n *node, r *resident) {
	n.host = n.host.plus(r.host, 1)
	if !n.HostLess() {
		for _, t := range r.host {
			s.groups.list[t.group].total += t.self
		}
	}
	for _, id := range r.member {
		g := s.groups.list[id]
		if value, ok := n.Labels[g.key]; ok && g.counts(n.Node) {
			g.count[value]++
			g.total++
		}
	}
	for _, id := range r.repels {
		g := s.groups.list[id]
		if value, ok := n.Labels[g.key]; ok {
			g.repel[value]++
		}
	}
}

// expectDaemons keeps room for DaemonSet pods that have not started yet.
func (s *solver) expectDaemons(n *node, there map[string]bool) {
	for i := range s.daemons {
		d := &s.daemons[i]
		if there[d.Namespace+"/"+d.Name] || !d.RunsOn(n.Node) {
			continue
		}
		model.AddTimes(n.free, d.Need, -1)
		s.count(n, d.resident)
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
