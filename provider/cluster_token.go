package provider

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// newClusterToken returns the ephemeral resource packhorse_cluster_token.
func newClusterToken() ephemeral.EphemeralResource { return &clusterToken{} }

// clusterToken is a bearer token for the cluster. Terraform does not store it.
type clusterToken struct{ session *session.Session }

var _ ephemeral.EphemeralResourceWithConfigure = &clusterToken{}

type clusterTokenModel struct {
	Token     types.String `tfsdk:"token"`
	ExpiresAt types.String `tfsdk:"expires_at"`
}

func (t *clusterToken) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_cluster_token"
}

func (t *clusterToken) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A bearer token for the API server of the provider block's `cluster_name`, for other providers " +
			"and provisioners.\n\nThe provider mints it from the AWS credentials. It is valid for 14 minutes at most and is " +
			"stored neither in the state nor in a plan.",
		Attributes: map[string]schema.Attribute{
			"token":      schema.StringAttribute{Computed: true, Sensitive: true, MarkdownDescription: "The token."},
			"expires_at": schema.StringAttribute{Computed: true, MarkdownDescription: "When the token should no longer be used, in RFC 3339 format."},
		},
	}
}

func (t *clusterToken) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	t.session = lifecycle.SharedSession(req.ProviderData, &resp.Diagnostics)
}

func (t *clusterToken) Open(ctx context.Context, _ ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	token, expires, err := t.session.Token(t.session.Mask(ctx))
	if err != nil {
		resp.Diagnostics.AddError("no token: "+err.Error(), "The provider mints tokens for the EKS cluster that `cluster_name` in the provider block names. "+
			"Terraform opens ephemeral resources during the plan too, so the name must be known by then: if the same apply creates the cluster, set its name as text, or apply the cluster first with `-target`.")
		return
	}
	resp.Diagnostics.Append(resp.Result.Set(ctx, clusterTokenModel{
		Token:     types.StringValue(token),
		ExpiresAt: types.StringValue(expires.UTC().Format(time.RFC3339)),
	})...)
}
