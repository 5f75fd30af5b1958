package data

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// NewNodes returns the data source packhorse_nodes.
func NewNodes() datasource.DataSource { return &nodesData{reader{suffix: "_nodes"}} }

type nodesData struct{ reader }

type nodesModel struct {
	ProvisionerName types.String  `tfsdk:"provisioner_name"`
	Nodes           []nodeModel   `tfsdk:"nodes"`
	HourlyPrice     types.Float64 `tfsdk:"hourly_price"`
}

type nodeModel struct {
	Name         types.String  `tfsdk:"name"`
	Provisioner  types.String  `tfsdk:"provisioner"`
	ProviderID   types.String  `tfsdk:"provider_id"`
	InstanceType types.String  `tfsdk:"instance_type"`
	Zone         types.String  `tfsdk:"zone"`
	CapacityType types.String  `tfsdk:"capacity_type"`
	HourlyPrice  types.Float64 `tfsdk:"hourly_price"`
	Ready        types.Bool    `tfsdk:"ready"`
	Initialized  types.Bool    `tfsdk:"initialized"`
	Deleting     types.Bool    `tfsdk:"deleting"`
	CreatedAt    types.String  `tfsdk:"created_at"`
	Labels       types.Map     `tfsdk:"labels"`
	Allocatable  types.Map     `tfsdk:"allocatable"`
	Pods         types.Int64   `tfsdk:"pods"`
}

func (d *nodesData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Returns the nodes in the cluster that Packhorse has bought, or taken over from Karpenter.",
		Attributes: map[string]schema.Attribute{
			"provisioner_name": optionalText("Name of the provisioner whose nodes are returned. By default the nodes of all provisioners."),
			"hourly_price":     computedPrice("Total price in dollars per hour at which the nodes were bought, as far as their prices are known."),
			"nodes": computedObjects("The nodes, sorted by name.", map[string]schema.Attribute{
				"name":          computedText("Name of the node."),
				"provisioner":   computedText("Name of its provisioner, or of its NodePool."),
				"provider_id":   computedText("Provider id, such as `aws:///eu-west-1a/i-0123456789abcdef0`."),
				"instance_type": computedText("Instance type."),
				"zone":          computedText("Zone."),
				"capacity_type": computedText("`spot` or `on-demand`."),
				"hourly_price":  computedPrice("Price in dollars per hour at which it was bought. Null if unknown."),
				"ready":         computedFlag("Whether the node is ready."),
				"initialized":   computedFlag("Whether the node has been ready, its startup taints are gone and it has its extended resources."),
				"deleting":      computedFlag("Whether the node is being deleted."),
				"created_at":    computedText("When the node was created, in RFC 3339 format."),
				"labels":        computedMap("Labels."),
				"allocatable":   computedMap("Capacity that is available to pods, by resource."),
				"pods":          computedNumber("Number of workload pods on the node, without those of DaemonSets."),
			}),
		},
	}
}

func (d *nodesData) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	ctx = d.session.Mask(ctx)
	var m nodesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	live, err := d.survey(ctx)
	if err != nil {
		resp.Diagnostics.AddError(lifecycle.NoCluster+": "+err.Error(), advice(err, "The provider reads nodes from its API server."))
		return
	}
	pods := map[string]int64{}
	for p := range live.Snapshot.EachPod() {
		if !p.Template.BelongsToNode() {
			pods[p.NodeName]++
		}
	}
	var price offer.Price
	m.Nodes = []nodeModel{}
	for n := range live.Snapshot.EachNode() {
		if n.Provisioner == "" || !m.ProvisionerName.IsNull() && n.Provisioner != m.ProvisionerName.ValueString() {
			continue
		}
		price += offer.PriceOf(n.Annotations)
		m.Nodes = append(m.Nodes, modelOfNode(n, pods[n.Name]))
	}
	m.HourlyPrice = types.Float64Value(price.Dollars())
	resp.Diagnostics.Append(resp.State.Set(ctx, m)...)
}

// survey reads the current state of the cluster. It does not use the session's survey, because a
// data source may be read after a change.
func (r *reader) survey(ctx context.Context) (*cluster.Survey, error) {
	live, err := r.session.Cluster(ctx)
	if err != nil {
		return nil, err
	}
	return live.Survey(ctx)
}

func modelOfNode(n *cluster.Node, pods int64) nodeModel {
	m := nodeModel{
		Name:         types.StringValue(n.Name),
		Provisioner:  types.StringValue(n.Provisioner),
		ProviderID:   value.TextOrNull(n.ProviderID),
		InstanceType: value.TextOrNull(n.Labels[api.LabelInstanceType]),
		Zone:         value.TextOrNull(n.Labels[api.LabelZone]),
		CapacityType: value.TextOrNull(n.Labels[api.LabelCapacityType]),
		Ready:        types.BoolValue(n.Ready),
		Initialized:  types.BoolValue(n.Initialized),
		Deleting:     types.BoolValue(n.Deleting),
		CreatedAt:    types.StringValue(n.Created.UTC().Format(time.RFC3339)),
		Labels:       value.Map(n.Labels),
		Allocatable:  amounts(n.Allocatable),
		Pods:         types.Int64Value(pods),
	}
	if price := offer.PriceOf(n.Annotations); price > 0 {
		m.HourlyPrice = types.Float64Value(price.Dollars())
	}
	return m
}
