package irsarole

import (
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// model is the state of packhorse_irsa_role.
type model struct {
	awsresource.RoleModel

	MaxSessionDuration      types.Int64  `tfsdk:"max_session_duration"`
	ServiceAccounts         types.Set    `tfsdk:"service_accounts"`
	ClusterName             types.String `tfsdk:"cluster_name"`
	Identity                types.String `tfsdk:"identity"`
	PodIdentityAssociations types.Map    `tfsdk:"pod_identity_associations"`
	OIDCIssuerURL           types.String `tfsdk:"oidc_issuer_url"`
	CreateOIDCProvider      types.Bool   `tfsdk:"create_oidc_provider"`
	OIDCProviderARN         types.String `tfsdk:"oidc_provider_arn"`
	AnnotateServiceAccount  types.Bool   `tfsdk:"annotate_service_account"`
	Preset                  types.String `tfsdk:"preset"`
	NodeRoles               types.Set    `tfsdk:"node_roles"`
	InterruptionQueueARN    types.String `tfsdk:"interruption_queue_arn"`
	NodePools               types.Bool   `tfsdk:"node_pools"`
	PresetPolicies          types.Map    `tfsdk:"preset_policies"`
}

// serviceAccountType is the type of an element of service_accounts.
var serviceAccountType = types.ObjectType{AttrTypes: map[string]attr.Type{"namespace": types.StringType, "name": types.StringType}}

// settle sets the computed attributes that follow from the configuration, the issuer, the account and the ARNs
// of the node roles.
func (m *model) settle(account *session.Account, nodeRoles []string) error {
	trusted := policy.Trust{Accounts: m.accounts()}
	m.OIDCProviderARN = types.StringNull()
	if m.usesOIDC() {
		trusted.Issuer = m.OIDCIssuerURL.ValueString()
		trusted.Provider = policy.ProviderARN(account.Partition, account.ID, trusted.Issuer)
		m.OIDCProviderARN = types.StringValue(trusted.Provider)
	}
	if m.usesPodIdentity() {
		if m.ClusterName.ValueString() == "" {
			return errNoPodCluster
		}
		trusted.Cluster = policy.ClusterARN(account.Partition, account.Region, account.ID, m.ClusterName.ValueString())
	}
	trust, err := trusted.JSON()
	if err != nil {
		return err
	}
	m.AssumeRolePolicy = awsresource.SpeltAs(m.AssumeRolePolicy, trust)
	if m.PresetPolicies, err = m.presetPolicies(account, nodeRoles); err != nil {
		return err
	}
	return m.checkSize()
}

// checkSize returns an error if all inline policies together are too large for IAM, which would say so only once the role
// exists. Those that are not known yet do not count.
func (m *model) checkSize() error {
	total := 0
	for _, document := range m.role().Inline {
		total += policy.Size(document)
	}
	if total > policy.MaxInline {
		return fmt.Errorf("policies: with those of the preset, they have %d characters, and IAM takes at most %d for all inline policies of a role: attach managed policies with `policy_arns` instead",
			total, policy.MaxInline)
	}
	return nil
}

func (m *model) presetPolicies(account *session.Account, nodeRoles []string) (types.Map, error) {
	if m.Preset.ValueString() != presetAgent {
		return awsresource.Documents(nil, true), nil
	}
	if m.ClusterName.ValueString() == "" {
		return types.Map{}, fmt.Errorf("preset = %q: no EKS cluster is named: set `cluster_name` here or in the provider block", presetAgent)
	}
	agent := policy.Agent{
		Partition: account.Partition,
		Region:    account.Region,
		Account:   account.ID,
		Cluster:   m.ClusterName.ValueString(),
		NodeRoles: nodeRoles,
		Queue:     m.InterruptionQueueARN.ValueString(),
		NodePools: m.NodePools.ValueBool(),
	}
	documents, err := agent.Policies()
	return awsresource.Documents(documents, true), err
}

// role returns the declared role. The model must have no unknown values.
func (m *model) role() asset.Role {
	role := m.Declared()
	role.MaxSession = int32(m.MaxSessionDuration.ValueInt64())
	maps.Copy(role.Inline, value.Strings(m.PresetPolicies))
	return role
}

// bareRole returns the declared role without its policies.
func (m *model) bareRole() asset.Role {
	bare := m.role()
	bare.Inline, bare.Attached = nil, nil
	return bare
}

// either returns the state after an update that has failed, so that the role may have policies and associations
// of both declarations. The refresh drops those that it does not have. Tags that were to change are unfinished.
func either(before, now model) model {
	before.Policies = awsresource.EitherMap(before.Policies, now.Policies)
	before.PresetPolicies = awsresource.EitherMap(before.PresetPolicies, now.PresetPolicies)
	before.PolicyARNs = awsresource.EitherSet(before.PolicyARNs, now.PolicyARNs)
	before.PodIdentityAssociations = awsresource.EitherMap(before.PodIdentityAssociations, now.PodIdentityAssociations)
	before.TagsAll = awsresource.EitherTags(before.TagsAll, now.TagsAll)
	return before
}

// accounts returns the ServiceAccounts that may assume the role.
func (m *model) accounts() []policy.ServiceAccount {
	var out []policy.ServiceAccount
	for _, element := range m.ServiceAccounts.Elements() {
		given := value.Fields(element.(types.Object))
		out = append(out, policy.ServiceAccount{Namespace: given["namespace"], Name: given["name"]})
	}
	return out
}

// annotated returns the ServiceAccounts that have an annotation with the role.
func (m *model) annotated() []policy.ServiceAccount {
	if !m.AnnotateServiceAccount.ValueBool() {
		return nil
	}
	return m.accounts()
}

func accountSet(accounts []policy.ServiceAccount) types.Set {
	elements := make([]attr.Value, len(accounts))
	for i, a := range accounts {
		elements[i] = types.ObjectValueMust(serviceAccountType.AttrTypes, map[string]attr.Value{
			"namespace": types.StringValue(a.Namespace), "name": types.StringValue(a.Name),
		})
	}
	return types.SetValueMust(serviceAccountType, elements)
}
