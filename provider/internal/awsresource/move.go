package awsresource

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// MoveState moves the state of a resource of hashicorp/aws. As with an import, it keeps only the
// name, and the refresh that follows reads the rest from AWS.
func (r *Named) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
		if req.SourceTypeName != r.Origin || !lifecycle.IsProvider(req.SourceProviderAddress, "hashicorp/aws") {
			return
		}
		var source struct {
			Name string `json:"name"`
		}
		if req.SourceRawState == nil || json.Unmarshal(req.SourceRawState.JSON, &source) != nil || source.Name == "" {
			resp.Diagnostics.AddError("move from "+r.Origin+": its state has no name", lifecycle.NothingChanged)
			return
		}
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root("name"), source.Name)...)
		lifecycle.SetName(ctx, resp.TargetIdentity, source.Name, &resp.Diagnostics)
	}}}
}
