package noderole

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// The values of access_entry: types of EKS, and none.
const (
	linuxEntry   = asset.LinuxEntry
	windowsEntry = "EC2_WINDOWS"
	noEntry      = "none"
)

const nodeRoleDescription = "The IAM role of the nodes that the agent buys, with its instance profile and the EKS access entry " +
	"that lets them join the cluster.\n\nThe role trusts EC2 and has AWS's managed policies for nodes: to join the cluster, pull " +
	"images and, unless `cni_policy` is off, assign addresses to pods. The provider leaves policies and tags that others have " +
	"added to the role alone, and does not delete a role that still has such policies."

// replacing says what a replacement does to nodes.
const replacing = "The replacement takes the role from the nodes that run with it: create a second role of another name instead, refer to it in the node " +
	"profiles, wait until the agent has replaced the nodes, and then remove the first."

func resourceSchema(ctx context.Context) schema.Schema {
	level := attribute.Level{
		"cni_policy": schema.BoolAttribute{
			Optional: true, Computed: true, Default: booldefault.StaticBool(true),
			MarkdownDescription: "Whether nodes may assign addresses to pods (`AmazonEKS_CNI_Policy`). On by default. Turn it " +
				"off if the network plugin has its own role. The policy only covers IPv4: in an IPv6 cluster, add " +
				"the policy in [IAM](../iam.md#nodes-of-ipv6-clusters) to `policies`.",
		},
		"node_policy_arns": schema.SetAttribute{
			Computed: true, ElementType: types.StringType, MarkdownDescription: "ARNs of AWS's managed policies for nodes that are attached to the role.",
		},
		"policy_arns": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "ARNs of additional managed policies of the role, such as " +
				"`arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore`.",
			Validators: attribute.EachForm(policy.PolicyARN),
		},
	}
	for _, part := range []attribute.Level{awsresource.RoleAttributes("role and its instance profile"), attribute.Tags("the role, its instance profile and its access entry"), nodeAdmissionAttributes()} {
		maps.Copy(level, part)
	}
	for _, key := range []string{"name", "path"} {
		text := level[key].(schema.StringAttribute)
		text.MarkdownDescription += " " + replacing
		level[key] = text
	}
	return schema.Schema{Version: lifecycle.SchemaVersion, MarkdownDescription: nodeRoleDescription, Attributes: level, Blocks: awsresource.Timeouts(ctx)}
}

// nodeAdmissionAttributes are the attributes of the instance profile and the access entry.
func nodeAdmissionAttributes() attribute.Level {
	return attribute.Level{
		"instance_profile": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Name of the instance profile, for `packhorse_node_profile.instance_profile`. By default the " +
				"name of the role. If it changes, the former profile keeps the role, which machines that were launched with it need, and is deleted with the role.",
			Validators: []validator.String{attribute.Form(policy.ProfileName)},
		},
		"instance_profile_arn": schema.StringAttribute{Computed: true, MarkdownDescription: "ARN of the instance profile."},
		"cluster_name": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Name of the EKS cluster that the nodes join. By default the cluster of the provider block.",
			Validators:          []validator.String{attribute.Form(policy.ClusterName)},
		},
		"access_entry": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(linuxEntry),
			MarkdownDescription: "Type of the access entry: `EC2_LINUX`, the default, `EC2_WINDOWS`, or `none` for a cluster " +
				"that only uses the `aws-auth` ConfigMap.",
			Validators: []validator.String{stringvalidator.OneOf(linuxEntry, windowsEntry, noEntry)},
		},
	}
}
