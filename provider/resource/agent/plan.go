package agent

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// ValidateConfig checks everything that is known. It needs no cluster.
func (r *agentResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.ClusterName.ValueString() == "" {
		m.ClusterName = types.StringValue(lifecycle.Unnamed) // the provider block may set it
	}
	for name, value := range map[string]*types.Map{"endpoints": &m.Endpoints, "options": &m.Options, "environment": &m.Environment, "node_selector": &m.NodeSelector} {
		if hasUnknown(ctx, *value) {
			resp.Diagnostics.AddAttributeWarning(path.Root(name), name+" is not checked: a part of it is known only after apply", "The apply checks it.")
			*value = types.MapNull(types.StringType)
		}
	}
	if !value.FullyKnown(ctx, m.Tolerations) {
		m.Tolerations = types.ListNull(tolerationType)
	}
	if !value.FullyKnown(ctx, m.PullSecrets) {
		m.PullSecrets = types.ListNull(types.StringType)
	}
	if said, own := value.Strings(m.Options)[optionNodePools]; own && !m.NodePools.IsNull() && !m.NodePools.IsUnknown() && said != strconv.FormatBool(m.NodePools.ValueBool()) {
		resp.Diagnostics.AddAttributeError(path.Root("node_pools"), fmt.Sprintf("node_pools is %t, and options[%q] is %q", m.NodePools.ValueBool(), optionNodePools, said), "Remove the option.")
	}
	settings := m.settings(lifecycle.Unnamed)
	resp.Diagnostics.Append(settingsDiagnostics(&settings)...)
}

// hasUnknown reports whether a map is known as a whole and has unknown elements.
func hasUnknown(ctx context.Context, m types.Map) bool {
	return !m.IsUnknown() && !value.FullyKnown(ctx, m)
}

func settingsDiagnostics(s *install.Settings) (diags diag.Diagnostics) {
	for _, err := range s.Validate() {
		setting := err.Field[:strings.IndexAny(err.Field+".", ".[")]
		diags.AddAttributeError(path.Root(setting), err.Error(), "")
	}
	return diags
}

// inherit sets the attributes that the configuration leaves to the provider block.
func (r *agentResource) inherit(ctx context.Context, m *model) {
	if m.ClusterName.IsUnknown() || m.ClusterName.IsNull() {
		m.ClusterName = value.TextOrNull(r.Session.Config.ClusterName)
	}
	if m.Region.IsUnknown() {
		m.Region = value.TextOrNull(r.Session.Region(ctx))
	}
	if m.Endpoints.IsUnknown() {
		m.inheritEndpoints(r.Session.Config.AWS.Endpoints)
	}
	if m.Image.IsUnknown() {
		m.Image = types.StringValue(install.DefaultImage(r.Session.Config.Version))
	}
}

// predict sets what the model inherits, and its revision. The provider block and the provider's version may
// have changed since the state was written.
func (r *agentResource) predict(ctx context.Context, config, m *model, diags *diag.Diagnostics) {
	for _, inherited := range []struct{ config, plan *types.String }{
		{&config.ClusterName, &m.ClusterName}, {&config.Region, &m.Region}, {&config.Image, &m.Image},
	} {
		if inherited.config.IsNull() {
			*inherited.plan = types.StringUnknown()
		}
	}
	if config.Endpoints.IsNull() {
		m.Endpoints = types.MapUnknown(types.StringType)
	}
	r.inherit(ctx, m)
	m.Revision = types.StringUnknown()
	if !m.unknown(ctx) {
		r.objects(ctx, m, diags)
	}
}

// ModifyPlan predicts the computed attributes. On destroy, it says what will happen to the nodes. A new
// installation can be planned without a cluster.
func (r *agentResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		// A state of an older version has the key of a replacement whose deletion has failed. This is a destroy.
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, replacementKey, nil)...)
	}
	if r.Session == nil {
		return
	}
	ctx = r.Session.Mask(ctx)
	if req.Plan.Raw.IsNull() {
		r.checkRemoval(ctx, req, &resp.Diagnostics)
		return
	}
	var config, m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	// As long as the provider block is unknown, what the resource inherits is planned as it was, or as unknown if
	// something changes. An installation stays as it was, too, if the provider block names no cluster any more.
	if r.Session.Named() == nil || req.State.Raw.IsNull() && r.Session.Known() == nil {
		r.predict(ctx, &config, &m, &resp.Diagnostics)
	}
	if req.State.Raw.IsNull() {
		resp.Diagnostics.Append(lifecycle.Record(ctx, resp.Private, replacementKey, m.location())...)
		r.checkInstallation(ctx, &m, &resp.Diagnostics)
		m.Leader, m.ImageDigest, m.CRDVersions = types.StringUnknown(), types.StringUnknown(), types.MapUnknown(types.StringType)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
		return
	}
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if !m.Namespace.Equal(state.Namespace) || !m.Name.Equal(state.Name) {
		r.checkMove(ctx, &state, &m, &resp.Diagnostics)
	}
	r.checkUpdate(ctx, &state, &m, &resp.Diagnostics)
	// The status of the agent stays as it was read, unless something changes.
	m.Leader, m.ImageDigest, m.CRDVersions = state.Leader, state.ImageDigest, state.CRDVersions
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	if !resp.Plan.Raw.Equal(req.State.Raw) {
		m.Leader, m.ImageDigest, m.CRDVersions = types.StringUnknown(), types.StringUnknown(), types.MapUnknown(types.StringType)
		resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	}
}
