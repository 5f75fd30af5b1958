package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// ValidateConfig checks what can be said without AWS.
func (r *nodeRole) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var policies types.Map
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("policies"), &policies)...)
	resp.Diagnostics.Append(checkInline(policies)...)
}

// checkInline refuses inline policies that IAM would.
func checkInline(policies types.Map) diag.Diagnostics {
	const larger = "The inline policies of a role may have 10,240 characters in all. Attach managed policies with `policy_arns` instead."
	var diags diag.Diagnostics
	total := 0
	refuse := func(name, problem, advice string) {
		diags.AddAttributeError(path.Root("policies"), fmt.Sprintf("policies[%q]: %s", name, problem), advice)
	}
	documents := policies.Elements()
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if err := policy.PolicyName.Check(name); err != nil {
			refuse(name, err.Error(), "")
		}
		if documents[name].IsNull() || documents[name].IsUnknown() {
			continue
		}
		document := textOf(documents[name])
		total += policy.Size(document)
		err := policy.CheckDocument(document)
		switch {
		case policy.Size(document) > policy.MaxInline:
			refuse(name, "larger than IAM takes", larger)
		case err != nil:
			refuse(name, err.Error(), "")
		case total > policy.MaxInline:
			refuse(name, "larger than IAM takes, together with those before it", larger)
		}
	}
	return diags
}

// ModifyPlan predicts the computed attributes as far as they follow from the
// configuration and the state. A new role can be planned without
// AWS: whether its name is taken is then not known.
func (r *nodeRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !r.planned(req) {
		return
	}
	var config, m nodeRoleModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.ClusterName.IsNull() {
		m.ClusterName = types.StringPointerValue(optional(r.session.Config.ClusterName))
	}
	if config.InstanceProfile.IsNull() {
		m.InstanceProfile = m.Name
	}
	if !m.AccessEntry.IsUnknown() && m.entry().Type != "" && m.ClusterName.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("access_entry"), errNoEntryCluster.Error(), "")
		return
	}
	if fullyKnown(ctx, m.Tags) {
		m.TagsAll = collect(withDefaultTags(ctx, m.Tags, r.session.Config.DefaultTags))(&resp.Diagnostics)
	}
	if !req.State.Raw.IsNull() {
		r.predict(ctx, req, &m, &resp.Diagnostics)
	}
	if name := m.InstanceProfile.ValueString(); name != "" {
		r.session.Drafts.AddInstanceProfile(name)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	r.checkNames(ctx, req, resp)
}

// predict settles the computed attributes of a role that exists.
func (r *nodeRole) predict(ctx context.Context, req resource.ModifyPlanRequest, m *nodeRoleModel, diags *diag.Diagnostics) {
	if m.Name.IsUnknown() || m.Path.IsUnknown() || m.CNIPolicy.IsUnknown() || m.InstanceProfile.IsUnknown() || m.ARN.IsUnknown() {
		return
	}
	account, err := r.session.Account(ctx)
	if err != nil {
		return // the apply needs the account, and says what is wrong with it
	}
	if err := m.settle(placeIn(account)); err != nil {
		diags.Append(nodeRoleError(*m, err))
		return
	}
	var state nodeRoleModel
	diags.Append(req.State.Get(ctx, &state)...)
	if sameJSON(m.AssumeRolePolicy.ValueString(), state.AssumeRolePolicy.ValueString()) {
		m.AssumeRolePolicy = state.AssumeRolePolicy
	}
}
