package agent

import (
	"context"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// hold puts the finalizer on a Provisioner before it gets its first
// node, so that it cannot go before its nodes have.
func (a *Agent) hold(ctx context.Context, p *view.Provisioner) error {
	if slices.Contains(p.Raw.Finalizers, api.Finalizer) {
		return nil
	}
	return a.cluster.SetProvisionerFinalizer(ctx, p.Raw.Name, true)
}

// releaseProvisioners takes the finalizer off the Provisioners that have neither
// nodes nor instances.
func (a *Agent) releaseProvisioners(ctx context.Context, v *view.View) {
	for _, p := range v.Provisioners {
		has := len(v.NodesOf(p.Raw.Name)) > 0
		finalizer := slices.Contains(p.Raw.Finalizers, api.Finalizer)
		if has == finalizer || has && p.Raw.DeletionTimestamp != nil {
			continue
		}
		if !has && a.inventory.HasInstances(ctx, p.Raw.Name) {
			a.inventory.Unsettled()
			continue
		}
		if err := a.releaseOrHold(ctx, p, has); err != nil && ctx.Err() == nil {
			a.log.Warn("could not change the finalizer of a Provisioner", "provisioner", p.Raw.Name, "error", err)
		}
	}
}

// releaseOrHold makes the finalizer say whether a Provisioner has nodes. What was
// made for them goes first: once the Provisioner is gone, the agent may be too.
func (a *Agent) releaseOrHold(ctx context.Context, p *view.Provisioner, hasNodes bool) error {
	if !hasNodes {
		if err := a.cloud.Forget(ctx, p.Raw.Name); err != nil {
			return err
		}
	}
	return a.cluster.SetProvisionerFinalizer(ctx, p.Raw.Name, hasNodes)
}
