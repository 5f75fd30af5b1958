package agent

import (
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// inventory is what drains know of instances, and add to that.
type inventory struct {
	*ledger
	owners  *owners
	assumed *nodes.Assumptions
	replan  signal
}

// Known implements drain.Inventory.
func (i inventory) Known(seen *cluster.Snapshot) *cluster.Snapshot {
	return i.owners.apply(i.assumed.Apply(seen))
}

// InstanceGone implements drain.Inventory.
func (i inventory) InstanceGone(node string) bool { return i.instanceGone(node) }

// Untagged implements drain.Inventory.
func (i inventory) Untagged(id string) bool { return i.owners.estranged(id) }

// Terminated implements drain.Inventory.
func (i inventory) Terminated(id string, confirmed bool) {
	switch {
	case confirmed:
		i.gaveBack(id)
	case !i.owners.estranged(id): // it may be by now
		i.unsettled()
		i.replan.set()
	}
}

// drained notes that a Node object was let go.
func (i inventory) drained(n *cluster.Node) {
	i.assumed.Gone(n.Name)
	i.scale(n.Provisioner)
	i.replan.set()
}
