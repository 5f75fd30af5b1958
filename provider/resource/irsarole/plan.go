package irsarole

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// ModifyPlan predicts the computed attributes that follow from the configuration and the state, and checks
// whether the name is taken. A new role can be planned without access to AWS.
func (r *irsaRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !r.Planned(req) {
		return
	}
	var config, m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.ClusterName.IsNull() {
		m.ClusterName = value.TextOrNull(r.Session.Config.ClusterName)
	}
	if m.usesPodIdentity() && m.ClusterName.IsNull() {
		resp.Diagnostics.Append(r.NoCluster(req, "identity", errNoPodCluster.Error(), "EKS has pod identity associations for each cluster."))
		return
	}
	if !m.Identity.IsUnknown() && m.usesOIDC() && config.OIDCIssuerURL.IsNull() && m.ClusterName.IsNull() {
		resp.Diagnostics.Append(r.NoCluster(req, "oidc_issuer_url", "oidc_issuer_url: "+errNoIssuer.Error(), ""))
		return
	}
	if value.FullyKnown(ctx, m.Tags) {
		m.TagsAll = r.WithDefaultTags(m.Tags)
	}
	if !req.State.Raw.IsNull() {
		var state model
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		r.predict(ctx, config, state, &m, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	r.CheckNames(ctx, req, resp)
}

// predict sets the computed attributes of an existing role. Those that have not changed keep the spelling of
// the state.
func (r *irsaRole) predict(ctx context.Context, config, state model, m *model, diags *diag.Diagnostics) {
	switch {
	case m.Identity.IsUnknown():
		return
	case !m.usesOIDC():
		m.OIDCIssuerURL = types.StringNull()
	case config.OIDCIssuerURL.IsNull() && !state.ClusterName.Equal(m.ClusterName):
		// The apply looks the issuer up. Terraform does not mark these as unknown itself if only the
		// provider block has changed.
		m.OIDCIssuerURL, m.OIDCProviderARN = types.StringUnknown(), types.StringUnknown()
		m.AssumeRolePolicy = jsontypes.NewNormalizedUnknown()
		m.PresetPolicies = types.MapUnknown(jsontypes.NormalizedType{})
		m.PodIdentityAssociations = types.MapUnknown(types.StringType)
	case config.OIDCIssuerURL.IsNull() && !state.OIDCIssuerURL.IsNull():
		m.OIDCIssuerURL = state.OIDCIssuerURL
	}
	inputs := []bool{
		!m.OIDCIssuerURL.IsUnknown(), !m.ClusterName.IsUnknown(), !m.Preset.IsUnknown(), !m.InterruptionQueueARN.IsUnknown(), !m.NodePools.IsUnknown(),
		value.FullyKnown(ctx, m.ServiceAccounts), value.FullyKnown(ctx, m.NodeRoles),
	}
	account := awsresource.AccountOf(m.ARN)
	if slices.Contains(inputs, false) || account == nil {
		return
	}
	report := func(err error) {
		if err != nil {
			diags.Append(r.Error(m.Name.ValueString(), err))
		}
	}
	changes := m.PresetPolicies.IsUnknown() // something that is declared
	if account.Region = r.Session.Region(ctx); account.Region == "" {
		if changes {
			_, err := r.Session.Account(ctx) // says why
			report(err)
		}
		return
	}
	nodeRoles, err := r.lookUpNodeRoles(ctx, m.NodeRoles)
	if errors.Is(err, fs.ErrNotExist) {
		return // the same apply may create the role
	}
	if err != nil && !changes {
		return
	}
	if err == nil {
		m.AssumeRolePolicy = state.AssumeRolePolicy
		err = m.settle(account, nodeRoles)
	}
	if err != nil {
		report(err)
		return
	}
	m.predictAssociations(&state)
	if maps.EqualFunc(value.Strings(m.PresetPolicies), value.Strings(state.PresetPolicies), policy.SameJSON) {
		m.PresetPolicies = state.PresetPolicies
	}
}

// lookUpNodeRoles returns the ARNs of the node roles.
func (r *irsaRole) lookUpNodeRoles(ctx context.Context, given types.Set) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, awsresource.PlanLookup)
	defer cancel()
	return awsresource.RoleARNs(ctx, func(ctx context.Context, name string) (string, error) {
		account, err := r.Session.Account(ctx)
		if err != nil {
			return "", err
		}
		return account.Roles.ARN(ctx, name)
	}, given)
}
