package irsarole

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
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
		m.ClusterName = types.StringPointerValue(value.Optional(r.Session.Config.ClusterName))
	}
	if m.usesPodIdentity() && m.ClusterName.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("identity"), errNoPodCluster.Error(), "Pod identity is kept by EKS, cluster by cluster.")
		return
	}
	if !m.Identity.IsUnknown() && m.usesOIDC() && config.OIDCIssuerURL.IsNull() && m.ClusterName.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("oidc_issuer_url"), "oidc_issuer_url: "+errNoIssuer.Error(), "")
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
	case config.OIDCIssuerURL.IsNull() && !state.OIDCIssuerURL.IsNull() && state.ClusterName.Equal(m.ClusterName):
		m.OIDCIssuerURL = state.OIDCIssuerURL
	}
	inputs := []bool{
		!m.OIDCIssuerURL.IsUnknown(), !m.ClusterName.IsUnknown(), !m.Preset.IsUnknown(), !m.InterruptionQueueARN.IsUnknown(),
		value.FullyKnown(ctx, m.ServiceAccounts), value.FullyKnown(ctx, m.NodeRoles), !m.ARN.IsUnknown(),
	}
	if slices.Contains(inputs, false) {
		return
	}
	account, err := r.Session.Account(ctx)
	if err != nil {
		return // the apply needs the account and reports the error
	}
	ctx, cancel := context.WithTimeout(ctx, awsresource.PlanLookup)
	defer cancel()
	nodeRoles, err := awsresource.RoleARNs(ctx, account.Roles, m.NodeRoles)
	if err != nil {
		return // the same apply may create the role
	}
	if err := m.settle(awsresource.PlaceIn(account), nodeRoles); err != nil {
		diags.Append(awsresource.RoleError(m.Name.ValueString(), err))
		return
	}
	if policy.SameJSON(m.AssumeRolePolicy.ValueString(), state.AssumeRolePolicy.ValueString()) {
		m.AssumeRolePolicy = state.AssumeRolePolicy
	}
	m.predictAssociations(&state)
	if sameDocuments(m.PresetPolicies, state.PresetPolicies) {
		m.PresetPolicies = state.PresetPolicies
	}
}

func sameDocuments(a, b types.Map) bool {
	x, y := value.Strings(a), value.Strings(b)
	if len(x) != len(y) {
		return false
	}
	for name := range x {
		if !policy.SameJSON(x[name], y[name]) {
			return false
		}
	}
	return true
}
