package agent

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// successorKey is where the planned private state says where the
// installation will be that replaces another one.
const successorKey = "successor"

// location identifies an installation.
type location struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (m *model) location() location {
	return location{m.Namespace.ValueString(), m.Name.ValueString()}
}

// saveSuccessor records a planned creation. Terraform replaces a resource, also one
// that it has tainted because its creation went wrong, by a deletion and a creation
// that share the private state of the plan: it is how the deletion knows that it is
// not a destroy. A destroy is planned without a creation and has no such record.
func saveSuccessor(ctx context.Context, next location, private lifecycle.PrivateState) diag.Diagnostics {
	raw, err := json.Marshal(next)
	if err != nil {
		return diag.Diagnostics{diag.NewErrorDiagnostic("record the successor: "+err.Error(), "")}
	}
	return private.SetKey(ctx, successorKey, raw)
}

// loadSuccessor returns what replaces the installation, nil on a destroy.
func loadSuccessor(ctx context.Context, private lifecycle.PrivateState, diags *diag.Diagnostics) *location {
	raw, found := private.GetKey(ctx, successorKey)
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
