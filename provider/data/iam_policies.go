package data

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/attribute"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/awsresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// NewIAMPolicies returns the data source packhorse_iam_policies.
func NewIAMPolicies() datasource.DataSource {
	return &iamPoliciesData{reader{suffix: "_iam_policies"}}
}

// iamPoliciesData returns the agent's policies, for users who manage IAM with another provider.
type iamPoliciesData struct{ reader }

type iamPoliciesModel struct {
	ClusterName types.String `tfsdk:"cluster_name"`
	Partition   types.String `tfsdk:"partition"`
	Region      types.String `tfsdk:"region"`
	AccountID   types.String `tfsdk:"account_id"`
	NodeRoles   types.Set    `tfsdk:"node_roles"`
	Queue       types.String `tfsdk:"interruption_queue_arn"`
	NodePools   types.Bool   `tfsdk:"node_pools"`
	Policies    types.Map    `tfsdk:"policies"`
	Sizes       types.Map    `tfsdk:"sizes"`
}

func (d *iamPoliciesData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Returns the agent's IAM policies as JSON, for configurations that manage IAM with another " +
			"provider. They are the policies that `packhorse_irsa_role` creates with the preset `agent`.\n\nEach policy fits " +
			"into a managed policy, and all of them together fit into the inline policies of one role. If you set `partition`, " +
			"`region` and `account_id` and give roles by ARN, the provider does not call AWS.",
		Attributes: map[string]schema.Attribute{
			"cluster_name": placeText("Name of the EKS cluster. By default the cluster of the provider block.", policy.ClusterName),
			"partition":    placeText("`aws`, `aws-cn` or `aws-us-gov`. By default the partition of the provider's account.", policy.Partition),
			"region":       placeText("AWS region. By default the provider's region.", policy.Region),
			"account_id":   placeText("AWS account. By default the account of the provider's credentials.", policy.Account),
			"node_roles": schema.SetAttribute{
				Required: true, ElementType: types.StringType, Validators: attribute.EachForm(policy.Role),
				MarkdownDescription: "Names or ARNs of the IAM roles that nodes may have. The provider looks up names in IAM. " +
					"Wildcards are not allowed.",
			},
			"interruption_queue_arn": schema.StringAttribute{
				Optional: true, MarkdownDescription: "ARN of the SQS queue with interruption events.", Validators: []validator.String{attribute.Form(policy.QueueARN)},
			},
			"node_pools": schema.BoolAttribute{
				Optional: true, MarkdownDescription: "Whether the agent may take over the machines of Karpenter, for `node_pools` of `packhorse_agent`. Off by default.",
			},
			"policies": computedMap("Policies by name, as JSON."),
			"sizes": schema.MapAttribute{
				Computed: true, ElementType: types.Int64Type, MarkdownDescription: "Sizes of the policies by name, in characters as " +
					"IAM counts them.",
			},
		},
	}
}

func (d *iamPoliciesData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	ctx = d.session.Mask(ctx)
	var m iamPoliciesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if err := d.complete(ctx, &m); err != nil {
		resp.Diagnostics.AddError("no policies: "+err.Error(), advice(err, "No access to AWS is needed if you set `cluster_name`, `partition`, `region` and `account_id`, and give roles by ARN."))
		return
	}
	roles, err := d.nodeRoles(ctx, &m)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("node_roles"), err.Error(), advice(err, ""))
		return
	}
	agent := policy.Agent{
		Partition: m.Partition.ValueString(), Region: m.Region.ValueString(), Account: m.AccountID.ValueString(),
		Cluster: m.ClusterName.ValueString(), Queue: m.Queue.ValueString(), NodeRoles: roles, NodePools: m.NodePools.ValueBool(),
	}
	policies, err := agent.Policies()
	if err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
		return
	}
	sizes := map[string]attr.Value{}
	for name, document := range policies {
		sizes[name] = types.Int64Value(int64(policy.Size(document)))
	}
	m.Policies, m.Sizes = value.Map(policies), types.MapValueMust(types.Int64Type, sizes)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// placeText is an attribute that has a default from the provider block or the account.
func placeText(description string, form policy.Form) schema.StringAttribute {
	return schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: description, Validators: []validator.String{attribute.Form(form)}}
}

// nodeRoles returns the ARNs of the node roles. It looks up those that are given by name in IAM,
// if the credentials are for the account of the policies.
func (d *iamPoliciesData) nodeRoles(ctx context.Context, m *iamPoliciesModel) ([]string, error) {
	names := slices.DeleteFunc(value.Elements(m.NodeRoles), func(role string) bool { return strings.HasPrefix(role, "arn:") })
	if len(names) == 0 {
		return value.Elements(m.NodeRoles), nil
	}
	account, err := d.session.Account(ctx)
	if err != nil {
		return nil, fmt.Errorf("node_roles: %s is a name, which the provider looks up in IAM (an ARN needs no lookup): %w", names[0], err)
	}
	if account.ID != m.AccountID.ValueString() {
		return nil, fmt.Errorf("node_roles: %s is a name, and the credentials are for the account %s: give the ARN of a role in %s", names[0], account.ID, m.AccountID.ValueString())
	}
	ctx, cancel := context.WithTimeout(ctx, awsresource.PlanLookup)
	defer cancel()
	return awsresource.RoleARNs(ctx, account.Roles.ARN, m.NodeRoles)
}

// complete fills in what the configuration does not set.
func (d *iamPoliciesData) complete(ctx context.Context, m *iamPoliciesModel) error {
	if m.ClusterName.IsNull() {
		if err := d.session.Known(); err != nil {
			return err
		}
		m.ClusterName = types.StringValue(d.session.Config.ClusterName)
	}
	if !m.Partition.IsNull() && !m.Region.IsNull() && !m.AccountID.IsNull() {
		return nil
	}
	account, err := d.session.Account(ctx)
	if err != nil {
		return err
	}
	for field, value := range map[*types.String]string{&m.Partition: account.Partition, &m.Region: account.Region, &m.AccountID: account.ID} {
		if field.IsNull() {
			*field = types.StringValue(value)
		}
	}
	return nil
}
