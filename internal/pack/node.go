package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// node is a node that exists or is being started, with the room that is left.
type node struct {
	*cluster.Node
	Taints []corev1.Taint // without those that pass
	free   []int64
	host   hostState
}

// usable reports whether a node is room for pods. A foreign node that is not
// ready may be dead; ours are replaced when they do not come up.
func usable(n *cluster.Node) bool {
	return !n.Unschedulable && (n.Ready || n.Provisioner != "")
}

// findNodes lists the usable nodes in the order in which they are filled: those
// that have been up before those that have not, then by name; and the others that
// stay, of which only the pods matter.
func (s *solver) findNodes() {
	startup := map[string][]corev1.Taint{}
	for _, p := range s.sellers {
		startup[p.Spec.Name] = p.Spec.Spec.StartupTaints
	}
	for i := range s.problem.Snapshot.Nodes {
		n := &s.problem.Snapshot.Nodes[i]
		switch {
		case s.problem.Leaving[n.Name] || n.Deleting:
		case usable(n):
			s.nodes = append(s.nodes, &node{Node: n, Taints: match.Lasting(n.Taints, startup[n.Provisioner], n.Initialized), free: s.space.vector(n.Allocatable), host: s.groups.attachLimits(n)})
		default:
			s.closed = append(s.closed, &node{Node: n, Taints: n.Taints, free: s.space.vector(n.Allocatable)})
		}
	}
	slices.SortStableFunc(s.nodes, func(a, b *node) int {
		return cmp.Or(cmpBool(b.Initialized, a.Initialized), cmp.Compare(a.Name, b.Name))
	})
}

// hostLess reports whether the node has no host name label, so that nothing can be
// spread over or follow others by it. Machines that are planned will have one.
func (n *node) hostLess() bool { return n.Name != "" && n.Labels[corev1.LabelHostname] == "" }

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
		addTimes(n.free, s.running[p.Template].need, -1)
		n.host = n.host.plus(s.running[p.Template].volumes, 1)
		if p.Owner.Kind == "DaemonSet" {
			if daemons[n] == nil {
				daemons[n] = map[string]bool{}
			}
			daemons[n][p.Namespace+"/"+p.Owner.Name] = true
		}
		if p.State != cluster.PodTerminating {
			s.count(n, s.running[p.Template])
		}
	}
	for _, n := range nodes {
		s.expectDaemons(n, daemons[n])
	}
}

// count adds a running pod to the groups that it belongs to or repels.
func (s *solver) count(n *node, r *runner) {
	n.host = n.host.plus(r.host, 1)
	if !n.hostLess() {
		for _, t := range r.host {
			s.groups.list[t.group].total += t.self
		}
	}
	for _, id := range r.member {
		g := s.groups.list[id]
		if value, ok := n.Labels[g.key]; ok && g.counts(n) {
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
		if there[d.Namespace+"/"+d.Name] || !d.runsOn(n) {
			continue
		}
		addTimes(n.free, d.need, -1)
		s.count(n, d.runner)
	}
}

// runsOn reports whether the DaemonSet will put a pod on the node.
func (d *daemon) runsOn(n *node) bool {
	if _, bad := match.Untolerated(n.Taints, d.Template.Tolerations, false); bad {
		return false
	}
	return slices.ContainsFunc(d.places, func(r match.Requirements) bool { return match.Meets(r, n.Node) })
}

// stepsToMatch is the effort of looking at one label of a node.
const stepsToMatch = 4

// matches reports whether the options allow the node.
func (s *solver) matches(o *options, i int) bool {
	s.effort.spend(1)
	if o.nodes[i] == 0 {
		s.effort.spend(stepsToMatch * (1 + len(o.requires)))
		o.nodes[i] = 1
		if !match.Meets(o.requires, s.nodes[i].Node) {
			o.nodes[i] = -1
		} else if _, bad := match.Untolerated(s.nodes[i].Taints, o.tolerations, false); bad {
			o.nodes[i] = -1
		}
	}
	return o.nodes[i] > 0
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
