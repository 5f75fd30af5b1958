package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Resident is what pods that are there mean to others: running pods of one template, or
// the pods that a DaemonSet puts on each of its nodes.
type Resident struct {
	PerNode []PerNode
	Members []int // groups counted by domain that they belong to
	Repels  []int // groups counted by domain that they keep away
}

// ReadResident adds the groups that a running pod's anti-affinity and ports speak of. It is
// called once.
func (gs *Groups) ReadResident(t *cluster.Template, r *Resident) {
	for _, k := range kinds {
		k.ReadResident(gs, t, r)
	}
}

// ResolveResident finds, once all groups are known, which ones a running pod belongs to.
func (gs *Groups) ResolveResident(t *cluster.Template, r *Resident) {
	in := gs.membership(t)
	for i, p := range r.PerNode {
		r.PerNode[i] = p.resolved(in)
	}
	r.PerNode, r.Members = gs.join(r.PerNode, in)
}

// join adds the groups of pods that are counted by node to a list, and returns those that are counted by domain.
func (gs *Groups) join(perNode []PerNode, in []bool) (_ []PerNode, members []int) {
	for id, member := range in {
		switch {
		case !member:
		case gs.List[id].Key != corev1.LabelHostname:
			members = append(members, id)
		default:
			perNode = addPerNode(perNode, PerNode{Group: id, Self: 1, Cap: NoCap, Entry: NoCap})
		}
	}
	return perNode, members
}

// Groups lists the groups that the pods have to do with.
func (r *Resident) Groups() []int {
	out := slices.Concat(r.Members, r.Repels)
	for _, p := range r.PerNode {
		out = append(out, p.Group)
	}
	return out
}

// Stopping returns what the pods mean to others while they stop. kube-scheduler counts them as before,
// but not for spreads.
func (gs *Groups) Stopping(r *Resident) *Resident {
	spread := func(id int) bool { return gs.List[id].spread }
	return &Resident{
		PerNode: slices.DeleteFunc(slices.Clone(r.PerNode), func(p PerNode) bool { return spread(p.Group) }),
		Members: slices.DeleteFunc(slices.Clone(r.Members), spread),
		Repels:  r.Repels,
	}
}

// CountedByDomain reports whether groups that are counted by domain look at the pods.
func (r *Resident) CountedByDomain() bool { return len(r.Members)+len(r.Repels) > 0 }

// Matters reports whether any constraint looks at the pods.
func (r *Resident) Matters() bool { return len(r.PerNode) > 0 || r.CountedByDomain() }

// Occupy counts a pod that is there.
func (s *State) Occupy(n *NodeView, r *Resident) {
	s.CountOn(n, r.PerNode, 1)
	if !n.HostLess() {
		for _, p := range r.PerNode {
			s.List[p.Group].Total += p.Self
		}
	}
	for _, id := range r.Members {
		g := s.List[id]
		if value, ok := n.Labels[g.Key]; ok && g.Counts(n.Node) {
			g.count[value]++
			g.Total++
		}
	}
	for _, id := range r.Repels {
		g := s.List[id]
		if value, ok := n.Labels[g.Key]; ok {
			g.repel[value]++
		}
	}
}

// TakesResident reports whether a node takes a pod that is not placed by us, such as one of a
// DaemonSet, as far as other pods go.
func (s *State) TakesResident(n *NodeView, r *Resident) bool {
	return s.RoomOn(n, r.PerNode, 1) > 0 && !s.kept(r, func(key string) (string, bool) { value, ok := n.Labels[key]; return value, ok })
}

// kept reports whether other pods keep a pod that is not placed by us out of the domains
// that a node with these labels is in.
func (s *State) kept(r *Resident, label func(key string) (string, bool)) bool {
	in := func(ids []int, pods func(*Group) map[string]int64) bool {
		return slices.ContainsFunc(ids, func(id int) bool {
			in := pods(s.List[id])
			if len(in) == 0 {
				return false
			}
			value, ok := label(s.List[id].Key)
			return ok && in[value] > 0
		})
	}
	return in(r.Members, func(g *Group) map[string]int64 { return g.repel }) || in(r.Repels, func(g *Group) map[string]int64 { return g.count })
}
