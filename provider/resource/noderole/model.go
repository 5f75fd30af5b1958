package noderole

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/irsarole"
)

// model is the state of packhorse_node_role.
type model struct {
	Name                types.String         `tfsdk:"name"`
	Path                types.String         `tfsdk:"path"`
	Description         types.String         `tfsdk:"description"`
	PermissionsBoundary types.String         `tfsdk:"permissions_boundary"`
	Tags                types.Map            `tfsdk:"tags"`
	TagsAll             types.Map            `tfsdk:"tags_all"`
	ARN                 types.String         `tfsdk:"arn"`
	AssumeRolePolicy    jsontypes.Normalized `tfsdk:"assume_role_policy"`
	CNIPolicy           types.Bool           `tfsdk:"cni_policy"`
	NodePolicyARNs      types.Set            `tfsdk:"node_policy_arns"`
	PolicyARNs          types.Set            `tfsdk:"policy_arns"`
	Policies            types.Map            `tfsdk:"policies"`
	InstanceProfile     types.String         `tfsdk:"instance_profile"`
	InstanceProfileARN  types.String         `tfsdk:"instance_profile_arn"`
	ClusterName         types.String         `tfsdk:"cluster_name"`
	AccessEntry         types.String         `tfsdk:"access_entry"`
	Timeouts            timeouts.Value       `tfsdk:"timeouts"`
}

// settle sets the computed attributes that follow from the configuration and the account.
func (m *model) settle(account *session.Account) error {
	trust, err := policy.NodeTrust(account.Partition)
	if err != nil {
		return err
	}
	m.AssumeRolePolicy = jsontypes.NewNormalizedValue(trust)
	m.NodePolicyARNs = value.Set(policy.NodePolicies(account.Partition, m.CNIPolicy.ValueBool()))
	if m.InstanceProfile.IsUnknown() {
		m.InstanceProfile = m.Name
	}
	m.InstanceProfileARN = types.StringValue(fmt.Sprintf("arn:%s:iam::%s:instance-profile%s%s",
		account.Partition, account.ID, m.Path.ValueString(), m.InstanceProfile.ValueString()))
	return nil
}

// role returns the declared role. The model must have no unknown values.
func (m *model) role() asset.Role {
	return asset.Role{
		Name:        m.Name.ValueString(),
		Path:        m.Path.ValueString(),
		Description: m.Description.ValueString(),
		Boundary:    m.PermissionsBoundary.ValueString(),
		MaxSession:  irsarole.DefaultSession,
		Trust:       m.AssumeRolePolicy.ValueString(),
		Inline:      value.Strings(m.Policies),
		Attached:    slices.Concat(value.Elements(m.NodePolicyARNs), value.Elements(m.PolicyARNs)),
		Tags:        value.Strings(m.TagsAll),
	}
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
