package drain

import (
	"context"
	"fmt"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// conclude finishes drained nodes beside the passes: a cloud that hangs must not hold up the evictions of
// other nodes. It does so for one batch at a time.
func (d *Drainer) conclude(ctx context.Context, drained []*cluster.Node) {
	if len(drained) == 0 {
		return
	}
	if !d.concluding.TryLock() {
		for _, n := range drained {
			d.memory.held.note(n.Name, holdUp{cause: HeldByMachine, text: d.unconfirmed(n.InstanceID())})
		}
		return
	}
	d.background.Go(func() {
		defer d.concluding.Unlock()
		d.finish(ctx, drained)
	})
}

// finish terminates the machines of drained nodes. Once the cloud has confirmed a termination, it
// removes the finalizer from the Node object.
func (d *Drainer) finish(ctx context.Context, drained []*cluster.Node) {
	gone := d.terminate(ctx, drained)
	parallel.Each(nodesAtOnce, drained, func(n *cluster.Node) {
		switch id := n.InstanceID(); {
		case !gone[id]:
			d.memory.held.note(n.Name, holdUp{cause: HeldByMachine, text: d.unconfirmed(id)})
		case n.Annotations[api.AnnotationSurging] != "":
			d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: "Deployments that were scaled up for its pods are scaled back first"})
		case !d.letNodeGo(ctx, n): // the next pass tries again
			d.memory.held.note(n.Name, holdUp{cause: HeldByNode, text: "the finalizer " + api.Finalizer + " could not be removed from the node"})
		}
	})
}

// terminate terminates the machines of nodes, and returns those instances that are being terminated.
func (d *Drainer) terminate(ctx context.Context, drained []*cluster.Node) map[string]bool {
	gone := map[string]bool{"": true} // a node without a provider id has no machine
	var ids []string
	for _, n := range drained {
		if id := n.InstanceID(); id != "" && d.terminations.Due(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return gone
	}
	slices.Sort(ids)
	confirmed, err := d.Machines.Terminate(ctx, ids)
	if err != nil && ctx.Err() == nil {
		d.Metrics.Failed("Terminate")
		d.Log.Error("could not terminate instances", "instances", ids, "error", err)
	}
	for _, id := range confirmed {
		gone[id] = true
	}
	for _, id := range ids {
		switch {
		case gone[id]:
			d.terminations.Succeeded(id)
			d.Inventory.Terminated(id, true)
		case ctx.Err() == nil:
			d.terminations.Failed(id)
			d.Inventory.Terminated(id, false)
		}
	}
	return gone
}

// unconfirmed says why a machine without pods has not been terminated.
func (d *Drainer) unconfirmed(id string) string {
	if d.Inventory.Untagged(id) {
		return "its pods are gone, but instance " + id + " has lost the tags of the cluster, without which it is not terminated: put them back, or terminate it"
	}
	return "its pods are gone, and the cloud has not confirmed yet that instance " + id + " is going"
}

// letNodeGo removes the finalizer.
func (d *Drainer) letNodeGo(ctx context.Context, n *cluster.Node) bool {
	if !d.Nodes.Patch(ctx, n.Name, cluster.NodeChange{RemoveFinalizer: api.Finalizer}) {
		return false
	}
	took := d.memory.since(n.Name)
	d.Metrics.Drained(n.Provisioner, took)
	d.Log.Info("terminated a node", "node", n.Name, "provisioner", n.Provisioner, "instance", n.InstanceID(),
		"drain_seconds", took.Seconds())
	d.Events.Normal(event.Node(n.Name), event.Terminated,
		fmt.Sprintf("instance %s is going", n.InstanceID()))
	d.Drained(n)
	return true
}
