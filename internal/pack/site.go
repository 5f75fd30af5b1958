package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// site is a node that exists or a planned machine, as kube-scheduler will see it.
type site struct {
	*topology.NodeView
	free    []int64
	index   int // in Existing or Machines
	machine bool
}

// sites lists the nodes and then the machines, without the pods of the plan. What
// groups count is set back to that.
func (s confirmation) sites() []*site {
	s.State.Restore(s.Start.Tallies)
	var out []*site
	for i, n := range s.Existing() {
		seen := &topology.NodeView{Node: n.Node, Counts: slices.Clone(s.Start.Counts[i])}
		out = append(out, &site{NodeView: seen, free: n.Free, index: i})
	}
	for i, m := range s.Machines() {
		view, free := s.nodeOf(m)
		out = append(out, &site{NodeView: view, free: free, index: i, machine: true})
	}
	return out
}

// nodeOf returns the node that a machine will be, with the pods of DaemonSets,
// which are counted, and the room that is left.
func (s confirmation) nodeOf(m *assign.Machine) (out *topology.NodeView, free []int64) {
	o := &s.Offerings[m.Offering]
	out, free = &topology.NodeView{Node: s.NodeOf(m)}, slices.Clone(o.Room)
	model.AddTimes(free, m.Used, -1)
	for _, i := range o.DaemonSets {
		if s.State.TakesResident(out, s.State.Daemons[i]) { // others may keep it off for good
			s.State.Occupy(out, s.State.Daemons[i])
		}
	}
	return out, free
}

// accepts reports whether kube-scheduler would let a pod of the class onto the site.
func (s confirmation) accepts(c *assign.Class, to *site, at *topology.DomainAssignment) bool {
	return c.Missing.Kind != match.Exhausted && s.State.Accepts(c.Rules, to.NodeView, at)
}
