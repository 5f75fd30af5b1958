package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// named is what resources have in common that are known by one name.
type named struct {
	session *session.Session
	suffix  string // of the resource's type, such as "_node_role"
	what    string // describes the name
	names   []naming
}

func (r *named) namings() []naming { return r.names }

func (r *named) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + r.suffix
}

func (r *named) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = nameIdentity(r.what)
}

func (r *named) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	r.session = sessionOf(req, resp)
}

func (r *named) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("name"), path.Root("name"), req, resp)
}

// refreshing begins to refresh the state of something in AWS: it sets the identity
// before anything else returns, and finds the account. It reports false where the
// state stays as it is.
func (r *named) refreshing(ctx context.Context, kind, name string, resp *resource.ReadResponse) (*session.Account, bool) {
	setName(ctx, resp.Identity, name, &resp.Diagnostics)
	if err := r.session.Known(); err != nil {
		resp.Diagnostics.Append(notRefreshed(kind+" "+name, err))
		return nil, false
	}
	account, err := r.session.Account(ctx)
	if err != nil {
		tellOnce(r.session, noAWS, err, &resp.Diagnostics)
	}
	return account, err == nil
}

// planned reports whether a plan can be made more precise: it is none to destroy, and
// the provider block is known.
func (r *named) planned(req resource.ModifyPlanRequest) bool {
	return !req.Plan.Raw.IsNull() && r.session != nil && r.session.Known() == nil
}
