package data

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// NewCluster returns the data source packhorse_cluster.
func NewCluster() datasource.DataSource { return &clusterData{reader{suffix: "_cluster"}} }

type clusterData struct{ reader }

type clusterModel struct {
	Name                 types.String `tfsdk:"name"`
	ARN                  types.String `tfsdk:"arn"`
	Endpoint             types.String `tfsdk:"endpoint"`
	CertificateAuthority types.String `tfsdk:"certificate_authority"`
	Version              types.String `tfsdk:"version"`
	Status               types.String `tfsdk:"status"`
	OIDCIssuerURL        types.String `tfsdk:"oidc_issuer_url"`
	OIDCProviderARN      types.String `tfsdk:"oidc_provider_arn"`
	VPCID                types.String `tfsdk:"vpc_id"`
	SubnetIDs            types.List   `tfsdk:"subnet_ids"`
	SecurityGroupIDs     types.List   `tfsdk:"security_group_ids"`
	ServiceCIDR          types.String `tfsdk:"service_cidr"`
	Tags                 types.Map    `tfsdk:"tags"`
	DiscoveryTags        types.Map    `tfsdk:"discovery_tags"`
}

func (d *clusterData) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Returns what EKS knows about the cluster of the provider block's `cluster_name`: its endpoint, " +
			"OIDC issuer, network and tags.",
		Attributes: map[string]schema.Attribute{
			"name":                  computedText("Name of the cluster."),
			"arn":                   computedText("ARN of the cluster."),
			"endpoint":              computedText("URL of its API server."),
			"certificate_authority": computedText("Certificate authority of the API server, as PEM."),
			"version":               computedText("Minor version of Kubernetes, such as `1.33`."),
			"status":                computedText("Status of the cluster, such as `ACTIVE`."),
			"oidc_issuer_url":       computedText("URL of its OIDC issuer."),
			"oidc_provider_arn":     computedText("ARN of the issuer's IAM OIDC provider, whether or not it exists."),
			"vpc_id":                computedText("Id of its VPC."),
			"subnet_ids":            computedTexts("Ids of the subnets with which it was created, sorted."),
			"security_group_ids":    computedTexts("Ids of its security groups, including the one that EKS created, sorted."),
			"service_cidr":          computedText("CIDR range of its Services."),
			"tags":                  computedMap("Tags of the cluster."),
			"discovery_tags": computedMap("Selector for resources with the cluster's tag, which node profiles use by default: `{ " +
				"\"kubernetes.io/cluster/<name>\" = \"*\" }`."),
		},
	}
}

func (d *clusterData) Read(ctx context.Context, _ datasource.ReadRequest, resp *datasource.ReadResponse) {
	facts, err := d.session.Facts(d.session.Mask(ctx))
	if err != nil {
		resp.Diagnostics.AddError("no facts about the cluster: "+err.Error(), advice(err, "The provider asks EKS for the cluster that `cluster_name` in the provider block names."))
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, modelOfCluster(facts))...)
}

func modelOfCluster(f *asset.Cluster) clusterModel {
	return clusterModel{
		Name:                 types.StringValue(f.Name),
		ARN:                  types.StringValue(f.ARN),
		Endpoint:             types.StringValue(f.Endpoint),
		CertificateAuthority: types.StringValue(string(f.CA)),
		Version:              types.StringValue(f.Version),
		Status:               types.StringValue(f.Status),
		OIDCIssuerURL:        value.TextOrNull(f.Issuer),
		OIDCProviderARN:      value.TextOrNull(f.ProviderARN()),
		VPCID:                value.TextOrNull(f.VPC),
		SubnetIDs:            value.List(f.Subnets),
		SecurityGroupIDs:     value.List(f.SecurityGroups),
		ServiceCIDR:          value.TextOrNull(f.ServiceCIDR),
		Tags:                 value.Map(f.Tags),
		DiscoveryTags:        value.Map(map[string]string{api.TagClusterPrefix + f.Name: "*"}),
	}
}
