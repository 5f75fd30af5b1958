// Package provider is the Terraform provider packhorse. It declares the configuration of the agent as typed
// resources, and checks it before anything is applied.
package provider

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/data"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/agent"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/interruptionqueue"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/irsarole"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/nodeprofile"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/noderole"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/provisioner"
)

// typeName is the prefix of all resource types.
const typeName = "packhorse"

// packhorse is the provider.
type packhorse struct {
	version string
	connect session.Connect
	// session is that of the provider block, nil before Configure.
	session *session.Session
}

// New returns a constructor of the provider in the given version. connect gives it access to the cluster and
// the AWS account that a provider block names.
func New(version string, connect session.Connect) func() provider.Provider {
	return func() provider.Provider { return &packhorse{version: version, connect: connect} }
}

func (p *packhorse) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = typeName
	resp.Version = p.version
}

func (p *packhorse) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerSchema()
}

// Configure reads the provider block. It creates no clients: that happens on first use, so that plans of new
// resources need no access.
func (p *packhorse) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var block providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &block)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cfg, diags := block.config(unknownAttributes(req.Config.Raw))
	resp.Diagnostics.Append(diags...)
	cfg.Version = p.version
	cfg.KubeConfigPath = os.Getenv("KUBE_CONFIG_PATH")
	shared := session.New(cfg, p.connect)
	p.session = shared
	resp.ResourceData = shared
	resp.DataSourceData = shared
	resp.EphemeralResourceData = shared
	resp.ListResourceData = shared
}

func (p *packhorse) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{provisioner.New, nodeprofile.New, irsarole.New, noderole.New, interruptionqueue.New, agent.New}
}

// EphemeralResources returns the ephemeral resources, which Terraform does not store.
func (p *packhorse) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newClusterToken}
}

// ListResources returns the resources that `terraform query` can list.
func (p *packhorse) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{provisioner.NewList, nodeprofile.NewList, irsarole.NewList}
}

// DataSources returns the data sources.
func (p *packhorse) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{data.NewCluster, data.NewInstanceTypes, data.NewIAMPolicies, data.NewNodes, data.NewSimulation, data.NewDiscovery}
}
