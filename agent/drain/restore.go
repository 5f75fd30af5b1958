package drain

import (
	"context"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// restore lets the Node object of a new machine go without a drain, so that the next comparison makes it again, and
// reports whether the drain is to leave it alone. The cloud controller manager asks EC2 for each node that is not ready, and
// deletes the node as soon as an answer lacks the machine. If that ended the machine, the next one would go the same way.
func (d *Drainer) restore(ctx context.Context, s *cluster.Snapshot, n *cluster.Node, pods []*cluster.Pod) bool {
	if !d.isRestorable(s, n, pods) {
		return false
	}
	if d.patch(ctx, n, cluster.NodeChange{RemoveFinalizer: api.Finalizer}) {
		d.memory.letGo(n)
		d.Log.Warn("let a new node go that somebody has deleted, to make it again for the same instance", "node", n.Name, "provisioner", n.Provisioner, "instance", n.InstanceID())
		d.Drained(n)
	}
	return true
}

// Kept returns the snapshot with the nodes that restore makes again as if nobody had deleted them: their machines
// stay, so nothing is to be bought in their place, and who wants one to go has yet to say so. The argument is not changed.
func (d *Drainer) Kept(s *cluster.Snapshot) *cluster.Snapshot {
	out := *s
	var pods map[string][]*cluster.Pod
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if !n.Deleting || !n.HeldBy(api.Finalizer) || !d.Inventory.InstanceNew(n.ProviderID) {
			continue
		}
		if pods == nil {
			pods, out.Nodes = s.PodsByNode(), slices.Clone(s.Nodes)
		}
		if d.isRestorable(s, n, pods[n.Name]) {
			out.Nodes[i].Deleting, out.Nodes[i].DeletedAt = false, time.Time{}
		}
	}
	return &out
}

// isRestorable reports whether the deletion of a node is none that the agent or its users have reason for: no kubelet has
// registered there, the machine is new and has not ended, and has no other node, which would be drained with it.
func (d *Drainer) isRestorable(s *cluster.Snapshot, n *cluster.Node, pods []*cluster.Pod) bool {
	switch {
	case hadKubelet(n, pods), n.Annotations[api.AnnotationManagedAttach] != "":
		return false // a kubelet registers only once, and no volume could be attached to the next Node object
	case closed(n), n.Annotations[api.AnnotationDisruption] != "", d.Nodes.Assumed.Deletes(n):
		return false // an agent removes it
	case heldByOthers(n), !d.Inventory.InstanceNew(n.ProviderID):
		return false // it would not go, or not come back
	}
	return slices.ContainsFunc(d.Cluster.Provisioners(), func(p *api.Provisioner) bool { return p.Name == n.Provisioner && p.DeletionTimestamp == nil }) &&
		!slices.ContainsFunc(s.Nodes, func(other cluster.Node) bool { return other.ProviderID == n.ProviderID && other.Name != n.Name })
}
