package lifecycle

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Naming is an attribute with which a resource names something that can exist only once.
type Naming struct {
	Attribute, Title string
	// LookUp returns a diagnostic if the planned name is taken in AWS. It is nil for objects in
	// the cluster, which the plan check looks up.
	LookUp func(ctx context.Context, account *session.Account, name string, plan tfsdk.Plan) (diag.Diagnostic, error)
}

// Claimant is a resource that names things.
type Claimant interface {
	resource.Resource
	Namings() []Naming
}

// Resource is implemented by all resources of the provider except packhorse_agent.
type Resource interface {
	Claimant
	resource.ResourceWithConfigure
	resource.ResourceWithIdentity
	resource.ResourceWithImportState
	resource.ResourceWithModifyPlan
	resource.ResourceWithMoveState
	resource.ResourceWithUpgradeState
	resource.ResourceWithValidateConfig
}

// Claim notes that a resource declares a name, and reports whether no other resource declares it or has
// it in its state. If two resources declare the same name, it adds an error.
func Claim(ctx context.Context, s *session.Session, n Naming, req resource.ModifyPlanRequest, name string, diags *diag.Diagnostics) (created bool) {
	if s == nil || name == "" {
		return false
	}
	var twice, known bool
	switch {
	case !req.State.Raw.IsNull() && Text(ctx, req.State.GetAttribute, n.Attribute) == name:
		known, twice = true, s.Claims.Keep(n.Title, name)
	case req.State.Raw.IsNull() && recorded(ctx, req.Private):
		return false // the creation of a replacement, whose deletion has been planned
	default:
		twice, known = s.Claims.Create(n.Title, name)
	}
	if twice {
		diags.AddAttributeError(path.Root(n.Attribute), fmt.Sprintf("%s: two resources declare the %s %q", n.Attribute, n.Title, name),
			"They would change the same object in turn. Give one of them another name, or remove it.")
	}
	return !known && !twice
}

// recorded reports whether private state says that something was declared.
func recorded(ctx context.Context, private PrivateState) bool {
	return slices.ContainsFunc([]string{clusterKey, DeclaredKey, IssuerKey}, func(key string) bool {
		raw, _ := private.GetKey(ctx, key)
		return len(raw) > 0
	})
}

// getAttribute reads an attribute of a configuration, a plan or a state.
type getAttribute = func(context.Context, path.Path, any) diag.Diagnostics

// Text reads an attribute, empty where it is unknown or not set.
func Text(ctx context.Context, get getAttribute, attribute string) string {
	var text types.String
	if diags := get(ctx, path.Root(attribute), &text); diags.HasError() {
		return ""
	}
	return text.ValueString()
}
