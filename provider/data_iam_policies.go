package provider

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// NewIAMPoliciesData returns the data source packhorse_iam_policies.
func NewIAMPoliciesData() datasource.DataSource {
	return &iamPoliciesData{reader{suffix: "_iam_policies"}}
}

// iamPoliciesData writes the agent's policies for those who keep IAM elsewhere.
type iamPoliciesData struct{ reader }

type iamPoliciesModel struct {
	ClusterName types.String `tfsdk:"cluster_name"`
	Partition   types.String `tfsdk:"partition"`
	Region      types.String `tfsdk:"region"`
	AccountID   types.String `tfsdk:"account_id"`
	NodeRoles   []string     `tfsdk:"node_roles"`
	Queue       types.String `tfsdk:"interruption_queue_arn"`
	Policies    types.Map    `tfsdk:"policies"`
	Sizes       types.Map    `tfsdk:"sizes"`
}

func (d *iamPoliciesData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The agent's least-privilege IAM policies as JSON, for those who keep IAM in another provider: the preset `agent` of " +
			"`packhorse_irsa_role` without the role.\n\n" +
			"Each fits into a managed policy, and all of them together into the inline policies of one role. With `partition`, `region` and " +
			"`account_id` set, nothing is asked of AWS.",
		Attributes: map[string]schema.Attribute{
			"cluster_name": schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "Name of the EKS cluster. That of the provider block by default."},
			"partition":    schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "`aws`, `aws-cn` or `aws-us-gov`. That of the provider's account by default."},
			"region":       schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "AWS region. That of the provider by default."},
			"account_id":   schema.StringAttribute{Optional: true, Computed: true, MarkdownDescription: "AWS account. That of the provider's credentials by default."},
			"node_roles": schema.SetAttribute{
				Required: true, ElementType: types.StringType, MarkdownDescription: "Names or ARNs of the IAM roles that machines may have.",
			},
			"interruption_queue_arn": asked("ARN of the SQS queue with interruption events."),
			"policies":               foundMap("Policies by name, as JSON."),
			"sizes": schema.MapAttribute{
				Computed: true, ElementType: types.Int64Type, MarkdownDescription: "Their sizes by name, in characters as IAM counts them.",
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
		resp.Diagnostics.AddError("no policies: "+err.Error(), "Set `cluster_name`, `partition`, `region` and `account_id` to need no access to AWS.")
		return
	}
	agent := policy.Agent{
		Partition: m.Partition.ValueString(), Region: m.Region.ValueString(), Account: m.AccountID.ValueString(),
		Cluster: m.ClusterName.ValueString(), Queue: m.Queue.ValueString(),
	}
	for _, role := range m.NodeRoles {
		if !strings.HasPrefix(role, "arn:") {
			role = "arn:" + agent.Partition + ":iam::" + agent.Account + ":role/" + role
		}
		agent.NodeRoles = append(agent.NodeRoles, role)
	}
	named, err := agent.Policies()
	if err != nil {
		resp.Diagnostics.AddError(err.Error(), "")
		return
	}
	texts, sizes := map[string]string{}, map[string]attr.Value{}
	for _, p := range named {
		texts[p.Name] = p.JSON
		sizes[p.Name] = types.Int64Value(int64(policy.Size(p.JSON)))
	}
	m.Policies, m.Sizes = textsByKey(texts), types.MapValueMust(types.Int64Type, sizes)
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// complete fills in what the configuration leaves to the provider.
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
