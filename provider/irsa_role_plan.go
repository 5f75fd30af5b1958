package provider

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// ModifyPlan predicts the computed attributes as far as they follow from the
// configuration and the state. A new role can be planned without
// AWS: whether its name is taken is then not known.
func (r *irsaRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !r.planned(req) {
		return
	}
	var config, m irsaModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.ClusterName.IsNull() {
		m.ClusterName = types.StringPointerValue(optional(r.session.Config.ClusterName))
	}
	if m.usesPodIdentity() && m.ClusterName.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("identity"), errNoPodCluster.Error(), "Pod identity is kept by EKS, cluster by cluster.")
		return
	}
	if !m.Identity.IsUnknown() && m.usesOIDC() && config.OIDCIssuerURL.IsNull() && m.ClusterName.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("oidc_issuer_url"), "oidc_issuer_url: "+errNoIssuer.Error(), "")
		return
	}
	if fullyKnown(ctx, m.Tags) {
		var diags diag.Diagnostics
		m.TagsAll, diags = withDefaultTags(ctx, m.Tags, r.session.Config.DefaultTags)
		resp.Diagnostics.Append(diags...)
	}
	if !req.State.Raw.IsNull() {
		var state irsaModel
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		r.predict(ctx, config, state, &m, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	r.checkNames(ctx, req, resp)
}

// predict settles the computed attributes of a role that exists, and keeps the
// state's spelling of those that have not changed.
func (r *irsaRole) predict(ctx context.Context, config, state irsaModel, m *irsaModel, diags *diag.Diagnostics) {
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
		fullyKnown(ctx, m.ServiceAccounts), fullyKnown(ctx, m.NodeRoles), !m.ARN.IsUnknown(),
	}
	if slices.Contains(inputs, false) {
		return
	}
	account, err := r.session.Account(ctx)
	if err != nil {
		return // the apply needs the account, and says what is wrong with it
	}
	ctx, cancel := context.WithTimeout(ctx, planLookup)
	defer cancel()
	nodeRoles, err := roleARNs(ctx, account.Roles, m.NodeRoles)
	if err != nil {
		return // a role may be made by the same apply
	}
	if err := m.settle(placeIn(account), nodeRoles); err != nil {
		diags.Append(irsaError(m.Name.ValueString(), err))
		return
	}
	if sameJSON(m.AssumeRolePolicy.ValueString(), state.AssumeRolePolicy.ValueString()) {
		m.AssumeRolePolicy = state.AssumeRolePolicy
	}
	m.predictAssociations(&state)
	if sameDocuments(m.PresetPolicies, state.PresetPolicies) {
		m.PresetPolicies = state.PresetPolicies
	}
}

// planLookup bounds the lookup of roles at plan, which waits for those that are not there.
const planLookup = 5 * time.Second

// fullyKnown reports whether a value has no unknown part.
func fullyKnown(ctx context.Context, v attr.Value) bool {
	raw, err := v.ToTerraformValue(ctx)
	return err == nil && raw.IsFullyKnown()
}

func sameDocuments(a, b types.Map) bool {
	x, y := mapStrings(a), mapStrings(b)
	if len(x) != len(y) {
		return false
	}
	for name := range x {
		if !sameJSON(x[name], y[name]) {
			return false
		}
	}
	return true
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return a == b
	}
	return reflect.DeepEqual(x, y)
}
