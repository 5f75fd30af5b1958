package irsarole

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// issuerRecord is the part of private state about the role's issuer.
type issuerRecord struct {
	// Derived means that the issuer was looked up by the name of the cluster. It must be looked
	// up again, because a cluster that is created again under the same name has another issuer.
	Derived bool `json:"derived,omitempty"`
}

// issuerIsDerived reports whether the configuration does not set the issuer, so that it is looked up.
func issuerIsDerived(ctx context.Context, config tfsdk.Config, diags *diag.Diagnostics) bool {
	var url types.String
	diags.Append(config.GetAttribute(ctx, path.Root("oidc_issuer_url"), &url)...)
	return url.IsNull()
}

// trustIssuer makes sure that IAM has an OIDC provider for the issuer, and reports whether it was created, for this role or
// another.
func (r *irsaRole) trustIssuer(ctx context.Context, issuers session.Issuers, m *model) (created bool, err error) {
	if !m.usesOIDC() {
		return false, nil
	}
	created, err = issuers.EnsureProvider(ctx, m.Name.ValueString(), asset.OIDCProvider{
		Issuer: m.OIDCIssuerURL.ValueString(), ARN: m.OIDCProviderARN.ValueString(),
		Create: m.CreateOIDCProvider.ValueBool(), Tags: value.Strings(m.TagsAll),
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("IAM has no OIDC provider for %s: set `create_oidc_provider = true`, or create it", m.OIDCIssuerURL.ValueString())
	}
	return created, err
}

// dropIssuer deletes the OIDC provider of the issuer before, if such a resource has created it and no other role
// trusts it.
func (r *irsaRole) dropIssuer(ctx context.Context, issuers session.Issuers, before *model) error {
	if before.OIDCProviderARN.ValueString() == "" {
		return nil
	}
	return issuers.DeleteProvider(ctx, before.OIDCProviderARN.ValueString(), before.Name.ValueString())
}

// refreshIssuer looks up the issuer again if it was looked up by the name of the cluster. If that fails, the
// state keeps the issuer.
func (r *irsaRole) refreshIssuer(ctx context.Context, issuers session.Issuers, record issuerRecord, m *model) {
	if !record.Derived || !m.usesOIDC() || m.ClusterName.ValueString() == "" {
		return
	}
	url, err := issuers.Of(ctx, m.ClusterName.ValueString())
	if err != nil {
		tflog.Warn(ctx, "kept the recorded OIDC issuer", map[string]any{"cluster": m.ClusterName.ValueString(), "error": err.Error()})
		return
	}
	m.OIDCIssuerURL = types.StringValue(url)
}

// refreshProvider sets oidc_provider_arn to null if IAM has no such provider, so that the plan creates it again.
func (r *irsaRole) refreshProvider(ctx context.Context, issuers session.Issuers, m *model) error {
	arn := m.OIDCProviderARN.ValueString()
	if arn == "" {
		return nil
	}
	known, err := issuers.HasProvider(ctx, arn)
	if err == nil && !known {
		m.OIDCProviderARN = types.StringNull()
	}
	return err
}
