package noderole

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// model is the state of packhorse_node_role.
type model struct {
	awsresource.RoleModel

	CNIPolicy          types.Bool   `tfsdk:"cni_policy"`
	NodePolicyARNs     types.Set    `tfsdk:"node_policy_arns"`
	InstanceProfile    types.String `tfsdk:"instance_profile"`
	InstanceProfileARN types.String `tfsdk:"instance_profile_arn"`
	ClusterName        types.String `tfsdk:"cluster_name"`
	AccessEntry        types.String `tfsdk:"access_entry"`
}

// settle sets the computed attributes that follow from the configuration and the account.
func (m *model) settle(account *session.Account) error {
	trust, err := policy.NodeTrust(account.Partition)
	if err != nil {
		return err
	}
	m.AssumeRolePolicy = awsresource.SpeltAs(m.AssumeRolePolicy, trust)
	m.NodePolicyARNs = value.Set(policy.NodePolicies(account.Partition, m.CNIPolicy.ValueBool()))
	if m.InstanceProfile.IsUnknown() {
		m.InstanceProfile = m.Name
	}
	return nil
}

// role returns the declared role. The model must have no unknown values.
func (m *model) role() asset.Role {
	role := m.Declared()
	role.Attached = slices.Concat(value.Elements(m.NodePolicyARNs), role.Attached)
	return role
}

// profile returns the declared instance profile.
func (m *model) profile() asset.Profile {
	return asset.Profile{
		Name: m.InstanceProfile.ValueString(), Path: m.Path.ValueString(), Role: m.Name.ValueString(), Tags: value.Strings(m.TagsAll),
	}
}

// entry returns the declared access entry. Its type is empty if none is declared.
func (m *model) entry() asset.Entry {
	entry := asset.Entry{Cluster: m.ClusterName.ValueString(), Principal: m.ARN.ValueString(), Tags: value.Strings(m.TagsAll)}
	if m.AccessEntry.ValueString() != noEntry {
		entry.Type = m.AccessEntry.ValueString()
	}
	return entry
}

// either returns the state after an update of the role that has failed, so that the role may have policies of
// both declarations. The refresh drops those that it does not have. Tags that were to change are unfinished.
func either(before, now model) model {
	before.NodePolicyARNs = awsresource.EitherSet(before.NodePolicyARNs, now.NodePolicyARNs)
	before.PolicyARNs = awsresource.EitherSet(before.PolicyARNs, now.PolicyARNs)
	before.Policies = awsresource.EitherMap(before.Policies, now.Policies)
	before.TagsAll = awsresource.EitherTags(before.TagsAll, now.TagsAll)
	return before
}

// bare returns the model right after the creation of the role: without policies, instance profile and access
// entry.
func (m *model) bare() model {
	bare := *m
	bare.InstanceProfile, bare.InstanceProfileARN = types.StringValue(""), types.StringNull()
	bare.AccessEntry = types.StringValue(noEntry)
	bare.NodePolicyARNs = value.Set(nil)
	bare.PolicyARNs = types.SetNull(types.StringType)
	bare.Policies = types.MapNull(jsontypes.NormalizedType{})
	return bare
}
