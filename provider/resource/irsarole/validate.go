package irsarole

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
)

// noPattern accepts exact names. The trust policy compares names exactly, so that a wildcard would match
// nothing.
func noPattern() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`),
		"must be an exact Kubernetes name in lower case, without wildcards")
}

func httpsURL() validator.String {
	return stringvalidator.RegexMatches(regexp.MustCompile(`^https://[^/]+`), "must begin with https://")
}

// ValidateConfig checks everything that is known. It needs no access to AWS.
func (r *irsaRole) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m model
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.Preset.IsUnknown() {
		m.validatePreset(resp)
	}
	m.validateIdentity(resp)
	for name := range m.Policies.Elements() {
		if slices.Contains(policy.Names, name) {
			resp.Diagnostics.AddAttributeError(path.Root("policies"), `policies: the name "`+name+`" is reserved for the preset`, "Give the policy another name.")
		}
	}
	resp.Diagnostics.Append(awsresource.CheckInline(m.Policies)...)
}

func (m model) validatePreset(resp *resource.ValidateConfigResponse) {
	agent := m.Preset.ValueString() == presetAgent
	if agent && m.NodeRoles.IsNull() {
		resp.Diagnostics.AddAttributeError(path.Root("node_roles"), `node_roles: required by preset = "agent"`,
			"Set the IAM role of the machines' instance profile. The agent can pass no other role to a machine.")
	}
	if agent {
		return
	}
	var without []string
	if !m.NodeRoles.IsNull() {
		without = append(without, "node_roles")
	}
	if !m.InterruptionQueueARN.IsNull() {
		without = append(without, "interruption_queue_arn")
	}
	if m.NodePools.ValueBool() {
		without = append(without, "node_pools")
	}
	if len(without) > 0 {
		resp.Diagnostics.AddAttributeError(path.Root(without[0]), strings.Join(without, " and ")+`: has no effect without preset = "agent"`,
			"Remove it, or set the preset.")
	}
}

// validateIdentity refuses attributes that have an effect only with an OIDC issuer.
func (m model) validateIdentity(resp *resource.ValidateConfigResponse) {
	if m.Identity.ValueString() != byPodIdentity {
		return
	}
	for _, without := range []struct {
		name string
		set  bool
	}{
		{"oidc_issuer_url", !m.OIDCIssuerURL.IsNull()},
		{"create_oidc_provider", m.CreateOIDCProvider.ValueBool()},
		{"annotate_service_account", m.AnnotateServiceAccount.ValueBool()},
	} {
		if without.set {
			resp.Diagnostics.AddAttributeError(path.Root(without.name), without.name+`: has no effect with identity = "pod-identity"`,
				`Remove it, or set identity = "both".`)
		}
	}
}
