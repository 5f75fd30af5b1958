package provider_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	providerschema "github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// foreign is a provider of others with one resource type. It keeps what it is
// told in the state and does nothing else.
type foreign struct {
	name, resource string
	schema         schema.Schema
}

func (f foreign) server() func() tfprotov6.ProviderServer {
	return providerserver.NewProtocol6(f)
}

// applied returns a folder whose state has the foreign resource under the address test, and what its
// configuration begins with.
func (f foreign) applied(t *testing.T, name string) (c *cli, head string) {
	t.Helper()
	c = newCLI(t, map[string]func() tfprotov6.ProviderServer{"hashicorp/aws": f.server()})
	head = requiring("hashicorp/aws")
	c.write(t, map[string]string{"main.tf": head + fmt.Sprintf("resource %q \"test\" {\n name = %q\n}\n", f.resource, name)})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	return c, head
}

func (f foreign) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = f.name
}

func (f foreign) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = providerschema.Schema{}
}

func (f foreign) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {}

func (f foreign) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (f foreign) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return foreignResource{f} }}
}

type foreignResource struct{ foreign foreign }

func (r foreignResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = r.foreign.resource
}

func (r foreignResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = r.foreign.schema
}

func (r foreignResource) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (r foreignResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}

func (r foreignResource) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}

func (r foreignResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

// The resource types that users come from.
var (
	kubernetesManifest = foreign{"kubernetes", "kubernetes_manifest", schema.Schema{Attributes: map[string]schema.Attribute{
		"manifest": schema.DynamicAttribute{Required: true},
	}}}
	kubectlManifest = foreign{"kubectl", "kubectl_manifest", schema.Schema{Attributes: map[string]schema.Attribute{
		"yaml_body": schema.StringAttribute{Required: true, Sensitive: true},
	}}}
	awsRole = foreign{"aws", "aws_iam_role", schema.Schema{Attributes: map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true}, "assume_role_policy": schema.StringAttribute{Optional: true},
	}}}
	awsAttachment = foreign{"aws", "aws_iam_role_policy_attachment", schema.Schema{Attributes: map[string]schema.Attribute{
		"role": schema.StringAttribute{Required: true},
	}}}
	awsQueue = foreign{"aws", "aws_sqs_queue", schema.Schema{Attributes: map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true},
	}}}
)
