package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// holdProvisioner puts the finalizer on a Provisioner before it gets its first
// node, so that it cannot go before its nodes have.
func (a *Agent) holdProvisioner(ctx context.Context, p *provisioner) error {
	if slices.Contains(p.raw.Finalizers, api.Finalizer) {
		return nil
	}
	return a.setFinalizer(ctx, p, true)
}

// releaseProvisioners takes the finalizer off the Provisioners that have neither
// nodes nor instances.
func (a *Agent) releaseProvisioners(ctx context.Context, v *view) {
	for _, p := range v.provisioners {
		has := len(v.nodesOf(p.raw.Name)) > 0
		finalizer := slices.Contains(p.raw.Finalizers, api.Finalizer)
		if has == finalizer || has && p.raw.DeletionTimestamp != nil {
			continue
		}
		if !has && a.hasInstances(ctx, p.raw.Name) {
			a.ledger.unsettled()
			continue
		}
		if err := a.releaseOrHold(ctx, p, has); err != nil && ctx.Err() == nil {
			a.log.Warn("left a Provisioner's finalizer for later", "provisioner", p.raw.Name, "error", err)
		}
	}
}

// releaseOrHold makes the finalizer say whether a Provisioner has nodes. What was
// made for them goes first: once the Provisioner is gone, the agent may be too.
func (a *Agent) releaseOrHold(ctx context.Context, p *provisioner, hasNodes bool) error {
	if !hasNodes {
		if err := a.cloud.Forget(ctx, p.raw.Name); err != nil {
			return err
		}
	}
	return a.setFinalizer(ctx, p, hasNodes)
}

// hasInstances reports whether the cloud has machines of a Provisioner, or cannot tell.
func (a *Agent) hasInstances(ctx context.Context, provisioner string) bool {
	instances, err := a.instances(ctx)
	return err != nil || slices.ContainsFunc(instances, func(i offer.Instance) bool {
		return i.Provisioner == provisioner && i.State != offer.StateStopping && i.State != offer.StateGone
	})
}

func (a *Agent) setFinalizer(ctx context.Context, p *provisioner, present bool) error {
	if err := a.cluster.SetProvisionerFinalizer(ctx, p.raw.Name, present); err != nil {
		return fmt.Errorf("set the finalizer of Provisioner %s: %w", p.raw.Name, err)
	}
	return nil
}
