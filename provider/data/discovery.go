package data

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// NewDiscovery returns the data source packhorse_discovery.
func NewDiscovery() datasource.DataSource { return &discoveryData{reader{suffix: "_discovery"}} }

// discoveryData finds what can be imported.
type discoveryData struct{ reader }

type discoveryModel struct {
	Items     []discoveredModel `tfsdk:"items"`
	ImportIDs types.Map         `tfsdk:"import_ids"`
}

type discoveredModel struct {
	Kind          string       `tfsdk:"kind"`
	Name          string       `tfsdk:"name"`
	ResourceType  string       `tfsdk:"resource_type"`
	ImportID      types.String `tfsdk:"import_id"`
	Notes         []string     `tfsdk:"notes"`
	Configuration string       `tfsdk:"configuration"`
}

func (d *discoveryData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Everything in the cluster and its AWS account that provisions nodes or gives ServiceAccounts a role, with ids to import it by and " +
			"suggested arguments: Provisioners and AWSNodeTemplates, Karpenter's NodePools and EC2NodeClasses of `v1beta1` and `v1` (converted), managed node " +
			"groups, groups of the Cluster Autoscaler, IAM roles of ServiceAccounts and of nodes, and interruption queues.\n\n" +
			"It is what `packhorse-agent import` writes into files. What AWS does not let the provider read is left out, and a warning names the permission.",
		Attributes: map[string]schema.Attribute{
			"items": computedObjects("What was found.", map[string]schema.Attribute{
				"kind": computedText("Current kind: `Provisioner`, `AWSNodeTemplate`, `NodePool`, `EC2NodeClass`, `IRSA " +
					"role`, `node role`, `interruption queue`, `managed node group` or `Cluster Autoscaler group`."),
				"name":          computedText("Its name."),
				"resource_type": computedText("Resource type that it has or would become."),
				"import_id":     computedText("Import id. Null if the object cannot be imported; its configuration is then a suggestion."),
				"notes": computedTexts("Fields that have no counterpart, with path and reason, and why the object cannot " +
					"be imported."),
				"configuration": computedText("Configuration of the resource, as HCL."),
			}),
			"import_ids": schema.MapAttribute{
				Computed: true, ElementType: types.ListType{ElemType: types.StringType},
				MarkdownDescription: "Import ids by resource type, for `import` blocks with `for_each`. The list of a type of which nothing is found is empty.",
			},
		},
	}
}

func (d *discoveryData) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	found, err := d.session.Discover(d.session.Mask(ctx))
	if err != nil {
		resp.Diagnostics.AddError("nothing was discovered: "+err.Error(), advice(err, "The provider reads the cluster that `cluster_name` in the provider block names, and its AWS account."))
		return
	}
	for _, left := range found.Denied {
		resp.Diagnostics.AddWarning("not discovered: "+left, "AWS denies this permission to the provider. The data source holds everything else.")
	}
	m := discoveryModel{Items: []discoveredModel{}}
	ids := map[string][]string{}
	for _, resource := range onboard.Resources() {
		ids[resource] = []string{} // so that configurations can refer to a type of which nothing is found
	}
	for _, item := range found.Items {
		m.Items = append(m.Items, modelOfItem(item))
		if item.ImportID != "" {
			ids[item.Resource] = append(ids[item.Resource], item.ImportID)
		}
	}
	converted, diags := types.MapValueFrom(ctx, types.ListType{ElemType: types.StringType}, ids)
	resp.Diagnostics.Append(diags...)
	m.ImportIDs = converted
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

func modelOfItem(item onboard.Item) discoveredModel {
	notes := item.Notes
	if notes == nil {
		notes = []string{}
	}
	return discoveredModel{
		Kind: item.Kind, Name: item.Name, ResourceType: item.Resource, ImportID: value.TextOrNull(item.ImportID),
		Notes: notes, Configuration: item.Configuration,
	}
}
