package agent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// account compares the cloud's instances with the cluster's nodes, on start, every
// interval, and whenever something may have been bought that has no Node object. A
// young instance without one gets it, an old one is given back, and a node whose
// instance is gone is let go.
func (a *Agent) account(ctx context.Context, v *view) {
	// The snapshot of v is older than the listing: a node that is missing in it
	// was let go after its instance was.
	instances, err := a.instances(ctx)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Error("could not compare nodes with instances", "error", err)
		}
		return
	}
	byProviderID := map[string]*cluster.Node{}
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		byProviderID[n.ProviderID] = n
	}
	exists := map[string]bool{}
	var surplus []string
	open := false
	for _, i := range instances {
		exists[i.ProviderID] = true
		n := byProviderID[i.ProviderID]
		if n == nil && v.nodes[i.NodeName] != nil && v.nodes[i.NodeName].ProviderID == "" {
			n = v.nodes[i.NodeName] // its kubelet does not know its provider id
		}
		switch {
		case i.LaunchID == "": // another program's
		case n != nil && (n.Deleting || held(n, api.Finalizer)) && !a.assumed.uncreated(n.Name),
			i.State != offer.StatePending && i.State != offer.StateRunning,
			a.ledger.wasGivenBack(i.ID):
		case n == nil && a.tooOld(v, i):
			surplus = append(surplus, i.ID)
		case !a.adopt(ctx, v, i):
			open = true
		}
	}
	a.giveBack(ctx, surplus)
	a.ledger.settled(a.letGo(ctx, v, exists), open)
	a.redrain.set()
}

func (a *Agent) instances(ctx context.Context) ([]offer.Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return a.cloud.Instances(ctx)
}

// tooOld reports whether an instance without a Node object is to be given back: it
// had its time to come up, or its Provisioner is gone.
func (a *Agent) tooOld(v *view, i offer.Instance) bool {
	p := v.byName[i.Provisioner]
	return p == nil || p.raw.DeletionTimestamp != nil || v.now.Sub(i.LaunchedAt) >= a.options.StartupTimeout
}

// adopt creates, or takes over, the Node object of an instance.
func (a *Agent) adopt(ctx context.Context, v *view, i offer.Instance) bool {
	p := v.byName[i.Provisioner]
	if p == nil {
		return true // its node is there, and goes with its Provisioner
	}
	if p.reason == reasonMarket || i.NodeName == "" {
		return false // its size or its name is not known yet
	}
	if !a.createNode(ctx, adoptedNode(p, i)) {
		return false
	}
	a.log.Info("adopted an instance", "node", i.NodeName, "instance", i.ID, "provisioner", i.Provisioner, "launch_id", i.LaunchID)
	a.cluster.Event(nodeRef(i.NodeName), corev1.EventTypeNormal, eventAdopted,
		fmt.Sprintf("the Node object of instance %s was created", i.ID))
	return true
}

// giveBack terminates instances that will never be nodes.
func (a *Agent) giveBack(ctx context.Context, ids []string) {
	if len(ids) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	gone, err := a.cloud.Terminate(call, ids)
	for _, id := range gone {
		a.ledger.gaveBack(id)
		a.log.Info("terminated an instance without a node", "instance", id)
	}
	if err != nil && ctx.Err() == nil {
		a.log.Error("left instances without nodes for later", "instances", ids, "error", err)
	}
}

// letGo deletes the nodes whose instance is gone, and returns all such nodes.
func (a *Agent) letGo(ctx context.Context, v *view, exists map[string]bool) map[string]bool {
	missing := map[string]bool{}
	for i := range v.snapshot.Nodes {
		n := &v.snapshot.Nodes[i]
		ours := n.Provisioner != "" && n.Annotations[api.AnnotationLaunchID] != "" && held(n, api.Finalizer)
		if !ours || exists[n.ProviderID] || v.now.Sub(n.Created) < listingLag {
			continue
		}
		missing[n.Name] = true
		if n.Deleting || !a.deleteNode(ctx, n.Name) {
			continue
		}
		a.log.Info("let go of a node whose instance is gone", "node", n.Name, "provider_id", n.ProviderID)
		a.cluster.Event(nodeRef(n.Name), corev1.EventTypeWarning, eventInstanceGone, "the instance does not exist any more")
	}
	return missing
}
