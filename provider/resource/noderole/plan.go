package noderole

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// ValidateConfig checks everything that is known. It needs no access to AWS.
func (r *nodeRole) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var policies types.Map
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("policies"), &policies)...)
	resp.Diagnostics.Append(awsresource.CheckInline(policies)...)
}

// ModifyPlan predicts the computed attributes that follow from the configuration and the state, and checks
// whether names are taken. A new role can be planned without access to AWS.
func (r *nodeRole) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if removes(ctx, req) {
		r.checkRemoval(ctx, lifecycle.Text(ctx, req.State.GetAttribute, "name"), &resp.Diagnostics)
	}
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
	if config.InstanceProfile.IsNull() {
		m.InstanceProfile = m.Name
	}
	if !m.AccessEntry.IsUnknown() && m.entry().Type != "" && m.ClusterName.IsNull() {
		resp.Diagnostics.Append(r.NoCluster(req, "access_entry", errNoEntryCluster.Error(), ""))
		return
	}
	if value.FullyKnown(ctx, m.Tags) {
		m.TagsAll = r.WithDefaultTags(m.Tags)
	}
	if !req.State.Raw.IsNull() {
		r.predict(ctx, req, &m, &resp.Diagnostics)
	}
	if name := m.InstanceProfile.ValueString(); name != "" {
		r.Session.Drafts.AddInstanceProfile(name)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	r.CheckNames(ctx, req, resp)
}

// removes reports whether a plan destroys or replaces the role. Terraform asks for no plan of the deletion in a
// replacement. A state that was moved and not refreshed has no path, which is not another one.
func removes(ctx context.Context, req resource.ModifyPlanRequest) bool {
	if req.State.Raw.IsNull() || req.Plan.Raw.IsNull() {
		return !req.State.Raw.IsNull()
	}
	return slices.ContainsFunc([]string{"name", "path"}, func(attribute string) bool {
		was := lifecycle.Text(ctx, req.State.GetAttribute, attribute)
		return was != "" && was != lifecycle.Text(ctx, req.Plan.GetAttribute, attribute)
	})
}

// checkRemoval warns of the nodes that may run with the role. Nothing in the cluster says which do. If the cluster
// cannot be reached, it says nothing, because a role can be managed without access to it.
func (r *nodeRole) checkRemoval(ctx context.Context, name string, diags *diag.Diagnostics) {
	if r.Session == nil || r.Session.Config.PlanChecks == session.ChecksOff {
		return
	}
	live, err := r.Session.Survey(r.Session.Mask(ctx))
	if err != nil {
		return
	}
	nodes := len(live.Snapshot.NodesThat(func(n *cluster.Node) bool { return n.Provisioner != "" }))
	if nodes == 0 {
		return
	}
	diags.AddWarning(fmt.Sprintf("IAM role %s: destroying it cuts off the nodes that run with it (at most %d)", name, nodes),
		"Without its access entry and its instance profile, they have no access to the cluster and to AWS any more, and become not ready. "+
			"A change of `name` or `path` also destroys the role before it creates the other. To change the role, create a second packhorse_node_role of another name, "+
			"refer to it in the node profiles, wait until the agent has replaced the nodes, and then remove this one. "+
			"If the same apply destroys the provisioners, their nodes go before the role, provided that the node profiles refer to it.")
}

// predict sets the computed attributes of an existing role.
func (r *nodeRole) predict(ctx context.Context, req resource.ModifyPlanRequest, m *model, diags *diag.Diagnostics) {
	account := awsresource.AccountOf(m.ARN)
	if m.Name.IsUnknown() || m.Path.IsUnknown() || m.CNIPolicy.IsUnknown() || m.InstanceProfile.IsUnknown() || account == nil {
		return
	}
	var state model
	diags.Append(req.State.Get(ctx, &state)...)
	m.AssumeRolePolicy = state.AssumeRolePolicy
	if err := m.settle(account); err != nil {
		diags.Append(r.Error(m.Name.ValueString(), err))
		return
	}
	// The path of a profile that the role did not get from this resource may be another one.
	m.InstanceProfileARN = types.StringUnknown()
	if m.InstanceProfile.Equal(state.InstanceProfile) {
		m.InstanceProfileARN = state.InstanceProfileARN
	}
}
