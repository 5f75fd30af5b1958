package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// site is a node that exists or a planned machine, as kube-scheduler will see it.
type site struct {
	*node
	index   int // in solver.nodes or solver.machines
	machine bool
}

// sites lists the nodes and then the machines, without the pods of the plan. What
// groups count is set back to that.
func (s *Assignment) sites() []*site {
	s.state.Restore(s.before)
	var out []*site
	for i, n := range s.nodes {
		seen := &node{NodeView: &topology.NodeView{Node: n.Node, Counts: slices.Clone(s.hostBefore[i])}, free: n.free}
		out = append(out, &site{node: seen, index: i})
	}
	for i, m := range s.machines {
		out = append(out, &site{node: s.nodeOf(m), index: i, machine: true})
	}
	return out
}

// remember keeps what groups count before anything is placed.
func (s *Assignment) remember() {
	s.before = s.state.Snapshot()
	s.state.KeepDaemonsOff()
	for _, n := range s.nodes {
		s.hostBefore = append(s.hostBefore, slices.Clone(n.Counts))
	}
}

// nodeOf returns the node that a machine will be, with the pods of DaemonSets,
// which are counted.
func (s *Assignment) nodeOf(m *machine) *node {
	col := &s.Offerings[m.column]
	out := &node{NodeView: &topology.NodeView{Node: m.modelOf(s.Supply)}, free: slices.Clone(col.Room)}
	model.AddTimes(out.free, m.used, -1)
	for _, i := range col.DaemonSets {
		if s.state.TakesResident(out.NodeView, s.state.Daemons[i]) { // others may keep it off for good
			s.state.Occupy(out.NodeView, s.state.Daemons[i])
		}
	}
	return out
}

// modelOf returns the labels and taints of the node that a machine will be.
func (m *machine) modelOf(supply *model.Supply) *model.Node {
	return &model.Node{Node: &cluster.Node{Labels: supply.LabelsOf(m.column, m.residual)}, Taints: m.seller.Spec.Spec.Taints}
}

// footing is what groups look at of the node that a machine will be.
type footing struct {
	zone   bool  // groups that count all nodes of a zone
	groups []int // others
}

// footingOf returns what the groups of the machine's pods and DaemonSets look at.
func (s *Assignment) footingOf(m *machine) footing {
	var out footing
	add := func(ids []int) {
		for _, id := range ids {
			if g := s.state.List[id]; !g.Selective() && g.Key == api.LabelZone {
				out.zone = true
			} else if !slices.Contains(out.groups, id) {
				out.groups = append(out.groups, id)
			}
		}
	}
	for _, i := range s.Offerings[m.column].DaemonSets {
		add(s.state.Daemons[i].Members)
		add(s.state.Daemons[i].Repels)
	}
	for _, p := range m.placed {
		add(p.class.Members)
	}
	return out
}

// sameFooting reports whether a machine with the footing counts alike if it is of
// another column.
func (s *Assignment) sameFooting(column int, m *machine, f footing) bool {
	if column == m.column || len(s.state.List) == 0 {
		return true
	}
	if !s.sameDaemons(column, m.column) || f.zone && s.Offerings[column].Offer.Zone != s.Offerings[m.column].Offer.Zone {
		return false
	}
	return !slices.ContainsFunc(f.groups, func(id int) bool { return !s.countsAlike(s.state.List[id], column, m.column, m.residual) })
}

// countsAlike reports whether a group counts machines of two columns alike.
func (s *Assignment) countsAlike(g *topology.Group, a, b, residual int) bool {
	is := &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(a, residual)}}
	was := &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(b, residual)}}
	return is.Labels[g.Key] == was.Labels[g.Key] && g.Counts(is) == g.Counts(was)
}
