package agent

import (
	"context"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// markInitialized labels nodes that have become ready for pods.
func (a *Agent) markInitialized(ctx context.Context, v *view.View) {
	up := v.Snapshot.NodesThat(func(n *cluster.Node) bool {
		starts := n.Provisioner != "" && !n.Initialized && !n.Deleting && n.HeldBy(api.Finalizer)
		return starts && isUp(n, v.ProvisionerOf(n)) && knowsDevices(v, n)
	})
	parallel.Each(parallel.NodesAtOnce, up, func(n *cluster.Node) {
		change := cluster.NodeChange{SetLabels: map[string]string{api.LabelInitialized: "true"}}
		if !a.nodes.Patch(ctx, n, change) {
			return
		}
		a.log.Info("initialized a node", "node", n.Name, "provisioner", n.Provisioner)
		a.events.Normal(event.Node(n.Name), event.Initialized, "the node is up")
	})
}

// knowsDevices reports whether this turn knows which devices the node is to have, which n.Awaited follows from. A
// Provisioner that buys nothing now, such as one that is not valid, may have no market that tells.
func knowsDevices(v *view.View, n *cluster.Node) bool {
	sells := func(p *view.Provisioner) bool { return p.InstanceType(n.Labels[api.LabelInstanceType]) != nil }
	return v.ByName[n.Provisioner] == nil || v.Now.Sub(n.Created) >= v.Timeout || slices.ContainsFunc(v.Provisioners, sells)
}

// isUp reports whether the kubelet is ready and has reported its resources, including those of device
// plugins, and the startup taints have been removed.
func isUp(n *cluster.Node, by *api.Provisioner) bool {
	return n.Ready && len(n.Capacity) > 0 && len(n.Allocatable) > 0 && len(n.Awaited) == 0 && len(n.PassingTaints(by)) == 0
}
