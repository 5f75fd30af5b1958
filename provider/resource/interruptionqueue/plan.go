package interruptionqueue

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// ValidateConfig checks that the names of the rules are not too long.
func (r *interruptionQueue) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var name, prefix types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("name"), &name)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("rule_prefix"), &prefix)...)
	at := "rule_prefix"
	if prefix.IsNull() {
		at, prefix = "name", name
	}
	for _, event := range policy.InterruptionEvents() {
		if rule := event.RuleName(prefix.ValueString()); len(rule) > maxRuleName {
			resp.Diagnostics.AddAttributeError(path.Root(at),
				fmt.Sprintf("%s: %q is too long: the rule %s would have %d characters, and EventBridge accepts %d", at, prefix.ValueString(), rule, len(rule), maxRuleName),
				fmt.Sprintf("Set a `rule_prefix` of at most %d characters.", maxRuleName-len(event.RuleName(""))))
			return
		}
	}
}

// ModifyPlan predicts the computed attributes that follow from the configuration and the state, and checks
// whether the name is taken. A new queue can be planned without access to AWS.
func (r *interruptionQueue) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if !r.Planned(req) {
		return
	}
	var config, m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.RulePrefix.IsNull() {
		m.RulePrefix = m.Name
	}
	if value.FullyKnown(ctx, m.Tags) {
		m.TagsAll = r.WithDefaultTags(m.Tags)
	}
	if !req.State.Raw.IsNull() {
		r.predict(ctx, req, &m, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &m)...)
	r.CheckNames(ctx, req, resp)
}

// predict sets the computed attributes of an existing queue.
func (r *interruptionQueue) predict(ctx context.Context, req resource.ModifyPlanRequest, m *model, diags *diag.Diagnostics) {
	account := awsresource.AccountOf(m.ARN)
	if m.Name.IsUnknown() || m.RulePrefix.IsUnknown() || account == nil {
		return
	}
	var state model
	diags.Append(req.State.Get(ctx, &state)...)
	m.Policy = state.Policy
	if err := m.settle(account); err != nil {
		diags.Append(r.Error(m.Name.ValueString(), err))
	}
}
