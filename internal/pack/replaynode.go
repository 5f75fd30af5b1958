package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// replayNode is a node that exists or a planned machine, as kube-scheduler will see it.
type replayNode struct {
	*topology.NodeView
	free    []int64
	index   int // in Existing or Machines
	machine bool
}

// nodes lists the nodes and then the machines, without the pods of the plan. What
// groups count is set back to that.
func (co confirmation) nodes() []*replayNode {
	co.State.Restore(co.Start.Tallies)
	var out []*replayNode
	for i, n := range co.Existing() {
		seen := &topology.NodeView{Node: n.Node, Counts: slices.Clone(co.Start.Counts[i])}
		out = append(out, &replayNode{NodeView: seen, free: n.Free, index: i})
	}
	for i, m := range co.Machines() {
		view, free := co.nodeOf(m)
		out = append(out, &replayNode{NodeView: view, free: free, index: i, machine: true})
	}
	return out
}

// nodeOf returns the node that a machine will be, with the pods of DaemonSets,
// which are counted, and the room that is left.
func (co confirmation) nodeOf(m *assign.Machine) (out *topology.NodeView, free []int64) {
	o := &co.Offerings[m.Offering]
	out, free = &topology.NodeView{Node: co.NodeOf(m)}, slices.Clone(o.Room)
	model.AddTimes(free, m.Used, -1)
	for _, i := range o.DaemonSets {
		if co.State.TakesResident(out, co.State.Daemons[i]) { // others may keep it off for good
			co.State.Occupy(out, co.State.Daemons[i])
		}
	}
	return out, free
}

// accepts reports whether kube-scheduler would let a pod of the class onto the node.
func (co confirmation) accepts(c *assign.Class, to *replayNode, at *topology.DomainAssignment) bool {
	return c.Missing.Kind != match.Exhausted && co.State.Accepts(c.Rules, to.NodeView, at)
}
