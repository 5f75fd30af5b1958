package model

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// Node is a node that exists or is being started, as constraints look at it.
type Node struct {
	*cluster.Node
	Taints []corev1.Taint // without those that pass
}

// usable reports whether a node is room for pods. A foreign node that is not
// ready may be dead; ours are replaced when they do not come up.
func usable(n *cluster.Node) bool { return n.Ready || n.Provisioner != "" }

// addNodes lists the usable nodes in the order in which they are filled: those
// that have been up before those that have not, then by name; and the others that
// stay, of which only the pods matter.
func (s *Supply) addNodes(in *Input) {
	provisioners := map[string]*api.Provisioner{}
	for _, p := range s.Pools {
		provisioners[p.Spec.Name] = p.Spec
	}
	for i := range in.Snapshot.Nodes {
		n := &in.Snapshot.Nodes[i]
		switch {
		case in.Leaving[n.Name] || n.Deleting:
		case usable(n) && !in.Shut[n.Name]:
			s.Nodes = append(s.Nodes, &Node{n, match.Lasting(n, provisioners[n.Provisioner])})
		default:
			s.Closed = append(s.Closed, &Node{n, n.Taints})
		}
	}
	slices.SortStableFunc(s.Nodes, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.turn(), b.turn()), cmp.Compare(a.Name, b.Name))
	})
}

// turn is 0 for nodes that have been up, which come before those that have not.
func (n *Node) turn() int {
	if n.HasBeenUp() {
		return 0
	}
	return 1
}

// HostLess reports whether the node has no host name label, so that nothing can be
// spread over or follow others by it. Machines that are planned will have one.
func (n *Node) HostLess() bool { return n.Name != "" && n.Labels[corev1.LabelHostname] == "" }

// RunsOn reports whether the DaemonSet will put a pod on the node.
func (d *DaemonSet) RunsOn(n *Node) bool {
	if match.Untolerated(n.Taints, d.Template.Tolerations, false) != nil {
		return false
	}
	return slices.ContainsFunc(d.places, func(r match.Requirements) bool { return match.Meets(r, n.Node) })
}

// StepsToMatch is the effort of looking at one label of a node.
const StepsToMatch = 4

// Matches reports whether the options allow the node.
func (s *Supply) Matches(o *Options, i int) bool {
	s.Effort.Spend(1)
	if o.nodes == nil {
		o.nodes = make([]int8, len(s.Nodes))
	}
	if o.nodes[i] == 0 {
		s.Effort.Spend(StepsToMatch * (1 + len(o.Requires)))
		o.nodes[i] = 1
		if !match.Meets(o.Requires, s.Nodes[i].Node) {
			o.nodes[i] = -1
		} else if match.Untolerated(s.Nodes[i].Taints, o.tolerations, false) != nil {
			o.nodes[i] = -1
		}
	}
	return o.nodes[i] > 0
}
