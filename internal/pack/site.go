package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// site is a node that exists or a planned machine, as kube-scheduler will see it.
type site struct {
	*node
	index   int // in solver.nodes or solver.machines
	machine bool
}

// sites lists the nodes and then the machines, without the pods of the plan. What
// groups count is set back to that.
func (s *solver) sites() []*site {
	for i, g := range s.groups.list {
		g.tally = s.before[i].clone()
	}
	var out []*site
	for i, n := range s.nodes {
		seen := *n
		seen.host = slices.Clone(s.hostBefore[i])
		out = append(out, &site{node: &seen, index: i})
	}
	for i, m := range s.machines {
		out = append(out, &site{node: s.nodeOf(m), index: i, machine: true})
	}
	return out
}

// remember keeps what groups count before anything is placed.
func (s *solver) remember() {
	for _, g := range s.groups.list {
		s.before = append(s.before, g.tally.clone())
	}
	for _, n := range s.nodes {
		s.hostBefore = append(s.hostBefore, slices.Clone(n.host))
	}
}

// nodeOf returns the node that a machine will be, with the pods of DaemonSets,
// which are counted.
func (s *solver) nodeOf(m *machine) *node {
	col := &s.Offerings[m.column]
	out := &node{Node: &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(m.column, m.residual)}, Taints: m.seller.Spec.Spec.Taints}, free: slices.Clone(col.Room)}
	model.AddTimes(out.free, m.used, -1)
	for _, i := range col.DaemonSets {
		s.count(out, s.daemons[i].resident)
	}
	return out
}

// footing is what groups look at of the node that a machine will be.
type footing struct {
	zone   bool  // groups that count all nodes of a zone
	groups []int // others
}

// footingOf returns what the groups of the machine's pods and DaemonSets look at.
func (s *solver) footingOf(m *machine) footing {
	var out footing
	add := func(ids []int) {
		for _, id := range ids {
			if g := s.groups.list[id]; !g.selective() && g.key == api.LabelZone {
				out.zone = true
			} else if !slices.Contains(out.groups, id) {
				out.groups = append(out.groups, id)
			}
		}
	}
	for _, i := range s.Offerings[m.column].DaemonSets {
		add(s.daemons[i].member)
		add(s.daemons[i].repels)
	}
	for _, p := range m.placed {
		add(p.class.member)
	}
	return out
}

// sameFooting reports whether a machine with the footing counts alike if it is of
// another column.
func (s *solver) sameFooting(column int, m *machine, f footing) bool {
	if column == m.column || len(s.groups.list) == 0 {
		return true
	}
	if !s.sameDaemons(column, m.column) || f.zone && s.Offerings[column].Offer.Zone != s.Offerings[m.column].Offer.Zone {
		return false
	}
	return !slices.ContainsFunc(f.groups, func(id int) bool { return !s.countsAlike(s.groups.list[id], column, m.column, m.residual) })
}

// countsAlike reports whether a group counts machines of two columns alike.
func (s *solver) countsAlike(g *group, a, b, residual int) bool {
	is := &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(a, residual)}}
	was := &model.Node{Node: &cluster.Node{Labels: s.LabelsOf(b, residual)}}
	return is.Labels[g.key] == was.Labels[g.key] && g.counts(is) == g.counts(was)
}
