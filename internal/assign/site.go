package assign

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Site is a node that exists or a planned machine, as kube-scheduler will see it.
type Site struct {
	*node
	Index   int // in solver.nodes or solver.machines
	Machine bool
}

// Sites lists the nodes and then the machines, without the pods of the plan. What
// groups count is set back to that.
func (s *Assignment) Sites() []*Site {
	s.State.Restore(s.Before)
	var out []*Site
	for i, n := range s.ExistingNodes {
		seen := &node{NodeView: &topology.NodeView{Node: n.Node, Counts: slices.Clone(s.HostBefore[i])}, Free: n.Free}
		out = append(out, &Site{node: seen, Index: i})
	}
	for i, m := range s.Machines {
		out = append(out, &Site{node: s.nodeOf(m), Index: i, Machine: true})
	}
	return out
}

// remember keeps what groups count before anything is placed.
func (s *Assignment) remember() {
	s.Before = s.State.Snapshot()
	s.State.KeepDaemonsOff()
	for _, n := range s.ExistingNodes {
		s.HostBefore = append(s.HostBefore, slices.Clone(n.Counts))
	}
}

// nodeOf returns the node that a machine will be, with the pods of DaemonSets,
// which are counted.
func (s *Assignment) nodeOf(m *Machine) *node {
	col := &s.Offerings[m.Offering]
	out := &node{NodeView: &topology.NodeView{Node: m.modelOf(s.Supply)}, Free: slices.Clone(col.Room)}
	model.AddTimes(out.Free, m.Used, -1)
	for _, i := range col.DaemonSets {
		if s.State.TakesResident(out.NodeView, s.State.Daemons[i]) { // others may keep it off for good
			s.State.Occupy(out.NodeView, s.State.Daemons[i])
		}
	}
	return out
}

// modelOf returns the labels and taints of the node that a machine will be.
func (m *Machine) modelOf(supply *model.Supply) *model.Node {
	return &model.Node{Node: &cluster.Node{Labels: supply.LabelsOf(m.Offering, m.Residual)}, Taints: m.Pool.Spec.Spec.Taints}
}

// Signature is what groups look at of the node that a machine will be.
type Signature struct {
	Zone   bool  // groups that count all nodes of a zone
	Groups []int // others
}

// SignatureOf returns what the groups of the machine's pods and DaemonSets look at.
func (s *Assignment) SignatureOf(m *Machine) Signature {
	var out Signature
	add := func(ids []int) {
		for _, id := range ids {
			if g := s.State.List[id]; !g.Selective() && g.Key == api.LabelZone {
				out.Zone = true
			} else if !slices.Contains(out.Groups, id) {
				out.Groups = append(out.Groups, id)
			}
		}
	}
	for _, i := range s.Offerings[m.Offering].DaemonSets {
		add(s.State.Daemons[i].Members)
		add(s.State.Daemons[i].Repels)
	}
	for _, p := range m.Placed {
		add(p.Class.Members)
	}
	return out
}

// SameSignature reports whether a machine with the topology signature counts alike if it is of
// another offering.
func (s *Assignment) SameSignature(offering int, m *Machine, f Signature) bool {
	if offering == m.Offering || len(s.State.List) == 0 {
		return true
	}
	if !s.SameDaemons(offering, m.Offering) || f.Zone && s.Offerings[offering].Offer.Zone != s.Offerings[m.Offering].Offer.Zone {
		return false
	}
	return !slices.ContainsFunc(f.Groups, func(id int) bool { return !s.countsAlike(s.State.List[id], offering, m.Offering, m.Residual) })
}

// countsAlike reports whether a group counts machines of two offerings alike.
func (s *Assignment) countsAlike(g *topology.Group, a, b, residual int) bool {
	is := &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(a, residual)}}
	was := &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(b, residual)}}
	return is.Labels[g.Key] == was.Labels[g.Key] && g.Counts(is) == g.Counts(was)
}
