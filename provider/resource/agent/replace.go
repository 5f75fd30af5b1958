package agent

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// replacementKey is the key in the planned private state of the location of the new installation in a
// replacement.
const replacementKey = "successor"

// location identifies an installation.
type location struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (m *model) location() location {
	return location{m.Namespace.ValueString(), m.Name.ValueString()}
}

// saveReplacement records a planned creation. Terraform replaces a resource, including a tainted one, with a
// deletion and a creation that share the private state of the plan. So the deletion can tell a replacement
// from a destroy, for which no creation is planned.
func saveReplacement(ctx context.Context, next location, private lifecycle.PrivateState) diag.Diagnostics {
	raw, err := json.Marshal(next)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("record the replacement: "+err.Error(), "")}
	}
	return private.SetKey(ctx, replacementKey, raw)
}

// loadReplacement returns the location of the installation that replaces this one, or nil on a destroy.
func loadReplacement(ctx context.Context, private lifecycle.PrivateState, diags *diag.Diagnostics) *location {
	raw, found := private.GetKey(ctx, replacementKey)
	diags.Append(found...)
	if len(raw) == 0 {
		return nil
	}
	var next location
	if err := json.Unmarshal(raw, &next); err != nil {
		diags.AddError("read what replaces the agent: "+err.Error(), "Nothing has been deleted.")
	}
	return &next
}
