package irsarole

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-jsontypes/jsontypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

// presetAgent is the preset with the agent's permissions.
const presetAgent = "agent"

// The limits of IAM for the duration of a session, in seconds.
const (
	minSession = 3600
	maxSession = 43200
)

const irsaRoleDescription = "An IAM role that Kubernetes ServiceAccounts of one cluster can assume through the cluster's OIDC " +
	"issuer, EKS Pod Identity, or both.\n\nThe provider writes the trust policy, which names exactly the given ServiceAccounts. " +
	"It leaves policies and tags that others have added to the role alone, and does not delete a role that still has such " +
	"policies."

func resourceSchema(ctx context.Context) schema.Schema {
	level := attribute.Level{
		"max_session_duration": schema.Int64Attribute{
			Optional: true, Computed: true, Default: int64default.StaticInt64(asset.DefaultSession),
			MarkdownDescription: "Maximum duration of a session in seconds, 3600 to 43200. 3600 by default.",
			Validators:          []validator.Int64{int64validator.Between(minSession, maxSession)},
		},
	}
	for _, part := range []attribute.Level{awsresource.RoleAttributes("role"), attribute.Tags("the role and its pod identity associations"), irsaTrustAttributes(), irsaPolicyAttributes()} {
		maps.Copy(level, part)
	}
	return schema.Schema{Version: lifecycle.SchemaVersion, MarkdownDescription: irsaRoleDescription, Attributes: level, Blocks: awsresource.Timeouts(ctx)}
}

// irsaTrustAttributes say who may assume the role.
func irsaTrustAttributes() attribute.Level {
	return attribute.Level{
		"service_accounts": schema.SetNestedAttribute{
			Required:            true,
			MarkdownDescription: "ServiceAccounts that may assume the role.",
			Validators:          []validator.Set{setvalidator.SizeAtLeast(1)},
			NestedObject: schema.NestedAttributeObject{Attributes: attribute.Level{
				"namespace": schema.StringAttribute{
					Required: true, MarkdownDescription: "Namespace of the ServiceAccount.", Validators: []validator.String{noPattern()},
				},
				"name": schema.StringAttribute{
					Required: true, MarkdownDescription: "Name of the ServiceAccount.", Validators: []validator.String{noPattern()},
				},
			}},
		},
		"cluster_name": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "Name of the EKS cluster. By default the cluster of the provider block.",
			Validators:          []validator.String{attribute.Form(policy.ClusterName)},
		},
		"identity": schema.StringAttribute{
			Optional: true, Computed: true, Default: stringdefault.StaticString(throughOIDC),
			MarkdownDescription: "How pods get the role. `oidc`, the default, uses projected tokens. `pod-identity` uses EKS " +
				"Pod Identity, whose add-on must run in the cluster, and which does not work on Fargate. `both` allows a migration between the two. " +
				"Pods that exist when EKS Pod Identity is set up do not get the role. After creating associations, `apply` waits for 10 seconds until EKS knows them.",
			Validators: []validator.String{stringvalidator.OneOf(throughOIDC, byPodIdentity, inBothWays)},
		},
		"pod_identity_associations": schema.MapAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "Ids of the EKS pod identity associations, by `NAMESPACE/NAME` of the ServiceAccount.",
		},
		"oidc_issuer_url": schema.StringAttribute{
			Optional: true, Computed: true,
			MarkdownDescription: "URL of the cluster's OIDC issuer. By default the provider looks it up by the name of the cluster.",
			Validators:          []validator.String{httpsURL()},
		},
		"create_oidc_provider": attribute.Flag("Whether to create the IAM OIDC provider of the issuer if there is none. It " +
			"is deleted with the last role that trusts it. Set this on one role per cluster."),
		"oidc_provider_arn": schema.StringAttribute{Computed: true, MarkdownDescription: "ARN of the IAM OIDC provider."},
		"annotate_service_account": attribute.Flag("Whether to annotate the ServiceAccounts with the role " +
			"(`eks.amazonaws.com/role-arn`). The ServiceAccounts must exist."),
	}
}

// irsaPolicyAttributes say what the role permits.
func irsaPolicyAttributes() attribute.Level {
	return attribute.Level{
		"preset": schema.StringAttribute{
			Optional: true,
			MarkdownDescription: "`agent` gives the role the permissions that the agent needs and no others: it can only " +
				"change resources with the cluster's tags and only pass `node_roles`. The policies are split so that none " +
				"exceeds IAM's limits.",
			Validators: []validator.String{stringvalidator.OneOf(presetAgent)},
		},
		"node_roles": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			MarkdownDescription: "Names or ARNs of the IAM roles that nodes may have. Required by the preset `agent`. The " +
				"provider looks up a name in IAM, so the role must exist. Wildcards are not allowed.",
			Validators: attribute.EachForm(policy.Role),
		},
		"interruption_queue_arn": attribute.FormText("ARN of the SQS queue with interruption events, for the preset `agent`.", policy.QueueARN),
		"node_pools": attribute.Flag("Whether the preset `agent` lets the agent take over the machines of Karpenter, for `node_pools` of `packhorse_agent`. " +
			"Off by default."),
		"preset_policies": schema.MapAttribute{
			Computed: true, ElementType: jsontypes.NormalizedType{},
			MarkdownDescription: "Inline policies that the preset adds to the role, by name.",
		},
		"policy_arns": schema.SetAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "ARNs of managed policies that are attached to the role.",
			Validators: attribute.EachForm(policy.PolicyARN),
		},
	}
}
