package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// irsaModel is packhorse_irsa_role.
type irsaModel struct {
	Name                    types.String         `tfsdk:"name"`
	Path                    types.String         `tfsdk:"path"`
	Description             types.String         `tfsdk:"description"`
	PermissionsBoundary     types.String         `tfsdk:"permissions_boundary"`
	MaxSessionDuration      types.Int64          `tfsdk:"max_session_duration"`
	Tags                    types.Map            `tfsdk:"tags"`
	TagsAll                 types.Map            `tfsdk:"tags_all"`
	ARN                     types.String         `tfsdk:"arn"`
	ServiceAccounts         types.Set            `tfsdk:"service_accounts"`
	ClusterName             types.String         `tfsdk:"cluster_name"`
	Identity                types.String         `tfsdk:"identity"`
	PodIdentityAssociations types.Map            `tfsdk:"pod_identity_associations"`
	OIDCIssuerURL           types.String         `tfsdk:"oidc_issuer_url"`
	CreateOIDCProvider      types.Bool           `tfsdk:"create_oidc_provider"`
	OIDCProviderARN         types.String         `tfsdk:"oidc_provider_arn"`
	AssumeRolePolicy        jsontypes.Normalized `tfsdk:"assume_role_policy"`
	AnnotateServiceAccount  types.Bool           `tfsdk:"annotate_service_account"`
	Preset                  types.String         `tfsdk:"preset"`
	NodeRoles               types.Set            `tfsdk:"node_roles"`
	InterruptionQueueARN    types.String         `tfsdk:"interruption_queue_arn"`
	PresetPolicies          types.Map            `tfsdk:"preset_policies"`
	Policies                types.Map            `tfsdk:"policies"`
	PolicyARNs              types.Set            `tfsdk:"policy_arns"`
	Timeouts                timeouts.Value       `tfsdk:"timeouts"`
}

// serviceAccountType is the type of an element of service_accounts.
var serviceAccountType = types.ObjectType{AttrTypes: map[string]attr.Type{"namespace": types.StringType, "name": types.StringType}}

// place is where a role is: what its policies say beside the configuration.
type place struct {
	partition, account, region string
}

func placeIn(account *session.Account) place {
	return place{account.Partition, account.ID, account.Region}
}

func (p place) rolePrefix() string {
	return fmt.Sprintf("arn:%s:iam::%s:role/", p.partition, p.account)
}

func (p place) clusterARN(name string) string {
	return policy.ClusterARN(p.partition, p.region, p.account, name)
}

// roleName is the shortest form in which a role of this account can be given.
func (p place) roleName(arn string) string {
	if name, ok := strings.CutPrefix(arn, p.rolePrefix()); ok && !strings.Contains(name, "/") {
		return name
	}
	return arn
}

// settle fills in the computed attributes that follow from the configuration,
// the issuer, the place and the ARNs of the node roles.
func (m *irsaModel) settle(p place, nodeRoles []string) error {
	trusted := policy.Trust{Accounts: m.accounts()}
	m.OIDCProviderARN = types.StringNull()
	if m.usesOIDC() {
		trusted.Issuer = m.OIDCIssuerURL.ValueString()
		trusted.Provider = policy.ProviderARN(p.partition, p.account, trusted.Issuer)
		m.OIDCProviderARN = types.StringValue(trusted.Provider)
	}
	if m.usesPodIdentity() {
		if m.ClusterName.ValueString() == "" {
			return errNoPodCluster
		}
		trusted.Cluster = p.clusterARN(m.ClusterName.ValueString())
	}
	trust, err := trusted.JSON()
	if err != nil {
		return err
	}
	m.AssumeRolePolicy = jsontypes.NewNormalizedValue(trust)
	m.PresetPolicies, err = m.presetPolicies(p, nodeRoles)
	return err
}

func (m *irsaModel) presetPolicies(p place, nodeRoles []string) (types.Map, error) {
	if m.Preset.ValueString() != presetAgent {
		return types.MapValueMust(jsontypes.NormalizedType{}, map[string]attr.Value{}), nil
	}
	if m.ClusterName.ValueString() == "" {
		return types.Map{}, fmt.Errorf("preset = %q: no cluster is named: set `cluster_name` here or in the provider block", presetAgent)
	}
	agent := policy.Agent{
		Partition: p.partition,
		Region:    p.region,
		Account:   p.account,
		Cluster:   m.ClusterName.ValueString(),
		NodeRoles: nodeRoles,
		Queue:     m.InterruptionQueueARN.ValueString(),
	}
	named, err := agent.Policies()
	if err != nil {
		return types.Map{}, err
	}
	out := make(map[string]attr.Value, len(named))
	for _, n := range named {
		out[n.Name] = jsontypes.NewNormalizedValue(n.JSON)
	}
	return types.MapValueMust(jsontypes.NormalizedType{}, out), nil
}

// role is the declared state of the role. All of the model is known.
func (m *irsaModel) role() session.Role {
	inline := mapStrings(m.Policies)
	maps.Copy(inline, mapStrings(m.PresetPolicies))
	return session.Role{
		Name:        m.Name.ValueString(),
		Path:        m.Path.ValueString(),
		Description: m.Description.ValueString(),
		Boundary:    m.PermissionsBoundary.ValueString(),
		MaxSession:  int32(m.MaxSessionDuration.ValueInt64()),
		Trust:       m.AssumeRolePolicy.ValueString(),
		Inline:      inline,
		Attached:    elementStrings(m.PolicyARNs),
		Tags:        mapStrings(m.TagsAll),
	}
}

// bareRole is the role without its policies, as it is created.
func (m *irsaModel) bareRole() session.Role {
	bare := m.role()
	bare.Inline, bare.Attached = nil, nil
	return bare
}

// accounts returns the ServiceAccounts that may assume the role.
func (m *irsaModel) accounts() []policy.ServiceAccount {
	var out []policy.ServiceAccount
	for _, element := range m.ServiceAccounts.Elements() {
		given := stringsOf(element.(types.Object))
		out = append(out, policy.ServiceAccount{Namespace: given["namespace"], Name: given["name"]})
	}
	return out
}

func accountSet(accounts []policy.ServiceAccount) (types.Set, diag.Diagnostics) {
	elements := make([]attr.Value, len(accounts))
	for i, a := range accounts {
		elements[i] = types.ObjectValueMust(serviceAccountType.AttrTypes, map[string]attr.Value{
			"namespace": types.StringValue(a.Namespace), "name": types.StringValue(a.Name),
		})
	}
	return types.SetValue(serviceAccountType, elements)
}

// valueString is what strings of the framework and of custom types have in common.
type valueString interface{ ValueString() string }

// mapStrings returns the elements of a map of strings, never nil.
func mapStrings(m types.Map) map[string]string {
	out := make(map[string]string, len(m.Elements()))
	for key, value := range m.Elements() {
		out[key] = value.(valueString).ValueString()
	}
	return out
}

// elementStrings returns the elements of a set of strings in order.
func elementStrings(s types.Set) []string {
	var out []string
	for _, value := range s.Elements() {
		out = append(out, value.(valueString).ValueString())
	}
	slices.Sort(out)
	return out
}
