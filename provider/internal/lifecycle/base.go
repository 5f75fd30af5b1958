package lifecycle

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// Base is embedded in all resources. Unless they say otherwise, they are identified by a name.
type Base struct {
	Session *session.Session
	Suffix  string // of the resource's type, such as "_node_role"
	What    string // describes the name
	Shape   func(context.Context) schema.Schema
}

// Metadata sets the type of the resource.
func (b *Base) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + b.Suffix
}

// Schema returns the schema of the resource.
func (b *Base) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = b.Shape(ctx)
}

// IdentitySchema returns the schema of an identity that consists of a name.
func (b *Base) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true, Description: b.What},
	}}
}

// SetName sets an identity that consists of a name. Terraform before 1.12 has no identities, so that
// identity is nil.
func SetName(ctx context.Context, identity *tfsdk.ResourceIdentity, name string, diags *diag.Diagnostics) {
	if identity != nil {
		diags.Append(identity.SetAttribute(ctx, path.Root("name"), name)...)
	}
}

// Configure sets the session.
func (b *Base) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	b.Session = SharedSession(req.ProviderData, &resp.Diagnostics)
}

// ImportState imports by name or identity.
func (b *Base) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("name"), path.Root("name"), req, resp)
}
