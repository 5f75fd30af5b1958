package lifecycle

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// SchemaVersion is the schema version of all resources. Version 0 had fewer attributes. In versions 0 and
// 1, effective_requirements was a list of objects. In versions 0 to 2, the agent's state had
// keep_crds = false if the configuration did not set it.
const SchemaVersion = 3

// UpgradeState upgrades a state of an older version. New attributes are null, and attributes that no
// longer exist are dropped.
func (b *Base) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	upgrader := resource.StateUpgrader{StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
		state, err := upgraded(req.RawState.JSON, resp.State.Schema.Type().TerraformType(ctx))
		if err != nil {
			resp.Diagnostics.AddError("upgrade the state from an older version: "+err.Error(), "The state has not been changed.")
			return
		}
		resp.State.Raw = state
	}}
	return map[int64]resource.StateUpgrader{0: upgrader, 1: upgrader, 2: upgrader}
}

func upgraded(state []byte, typ tftypes.Type) (none tftypes.Value, err error) {
	var attributes map[string]json.RawMessage
	if err := json.Unmarshal(state, &attributes); err != nil {
		return none, err
	}
	delete(attributes, "effective_requirements") // the refresh sets them again
	if string(attributes["keep_crds"]) == "false" {
		delete(attributes, "keep_crds") // the configuration need not have set it
	}
	if state, err = json.Marshal(attributes); err != nil {
		return none, err
	}
	return tfprotov6.RawState{JSON: state}.UnmarshalWithOpts(typ, tfprotov6.UnmarshalOpts{
		ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true},
	})
}
