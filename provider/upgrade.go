package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// schemaVersion is that of all resources. Version 0 had fewer attributes, none
// of them with another meaning.
const schemaVersion = 1

// upgraders bring a state of an older version to this one: attributes that it
// lacks are null, those that are gone are dropped.
func upgraders() map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{0: {StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
		typ := resp.State.Schema.Type().TerraformType(ctx)
		state, err := req.RawState.UnmarshalWithOpts(typ, tfprotov6.UnmarshalOpts{
			ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
		})
		if err != nil {
			resp.Diagnostics.AddError("upgrade the state from version 0: "+err.Error(), "The state is left as it is.")
			return
		}
		resp.State.Raw = state
	}}}
}

// UpgradeState upgrades from version 0.
func (r *customResource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return upgraders()
}

// UpgradeState upgrades from version 0.
func (r *irsaRole) UpgradeState(context.Context) map[int64]resource.StateUpgrader { return upgraders() }

// UpgradeState upgrades from version 0.
func (r *nodeRole) UpgradeState(context.Context) map[int64]resource.StateUpgrader { return upgraders() }

// UpgradeState upgrades from version 0.
func (r *interruptionQueue) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return upgraders()
}

// UpgradeState upgrades from version 0.
func (r *agentResource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return upgraders()
}
