// Package awsresource holds what the resources in AWS have in common: the account,
// names that are taken, roles, tags and errors.
package awsresource

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Named is what resources have in common that are known by one name.
type Named struct {
	Session *session.Session
	Suffix  string // of the resource's type, such as "_node_role"
	What    string // describes the name
	Names   []lifecycle.Naming
	Shape   func(context.Context) schema.Schema
	Origin  string // the resource type of hashicorp/aws that it can be moved from
}

// Namings implements [lifecycle.Claimant].
func (r *Named) Namings() []lifecycle.Naming { return r.Names }

// Metadata names the type of the resource.
func (r *Named) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.Suffix
}

// Schema describes the resource.
func (r *Named) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.Shape(ctx)
}

// UpgradeState upgrades from older versions.
func (r *Named) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return lifecycle.StateUpgraders()
}

// IdentitySchema is that of a name.
func (r *Named) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = lifecycle.NameIdentity(r.What)
}

// Configure takes the session of the provider.
func (r *Named) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.Session = lifecycle.SessionOf(req, resp)
}

// ImportState imports by name or identity.
func (r *Named) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("name"), path.Root("name"), req, resp)
}

// Changing begins to create, update or delete something in AWS: it bounds the time and
// finds the account, which is nil where nothing may be changed because of an error.
func (r *Named) Changing(ctx context.Context, limit lifecycle.OperationLimit, diags *diag.Diagnostics) (context.Context, context.CancelFunc, *session.Account) {
	ctx, cancel := lifecycle.WithLimit(r.Session.Mask(ctx), limit, 0, diags)
	account := r.Account(ctx, diags)
	if diags.HasError() {
		return ctx, cancel, nil
	}
	return ctx, cancel, account
}

// Account returns the account, or nil with an error that says that nothing has been changed.
func (r *Named) Account(ctx context.Context, diags *diag.Diagnostics) *session.Account {
	account, err := r.Session.Account(ctx)
	if err != nil {
		diags.AddError(lifecycle.NoAWS+": "+err.Error(), lifecycle.NothingChanged)
	}
	return account
}

// Refreshing begins to refresh the state of something in AWS: it sets the identity
// before anything else returns, and finds the account. It reports false where the
// state stays as it is.
func (r *Named) Refreshing(ctx context.Context, kind, name string, resp *resource.ReadResponse) (*session.Account, bool) {
	lifecycle.SetName(ctx, resp.Identity, name, &resp.Diagnostics)
	if err := r.Session.Known(); err != nil {
		resp.Diagnostics.Append(lifecycle.NotRefreshed(kind+" "+name, err))
		return nil, false
	}
	account, err := r.Session.Account(ctx)
	if err != nil {
		lifecycle.ReportOnce(r.Session, lifecycle.NoAWS, err, &resp.Diagnostics)
	}
	return account, err == nil
}

// Planned reports whether a plan can be made more precise: it is none to destroy, and
// the provider block is known.
func (r *Named) Planned(req resource.ModifyPlanRequest) bool {
	return !req.Plan.Raw.IsNull() && r.Session != nil && r.Session.Known() == nil
}
