package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}}

// schemasOf returns the schemas of the provider.
func schemasOf(t testing.TB, server tfprotov6.ProviderServer) *tfprotov6.GetProviderSchemaResponse {
	t.Helper()
	schemas, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// configured is the provider behind its protocol, as a Terraform with resource
// identities talks to it.
func configured(t testing.TB) tfprotov6.ProviderServer {
	t.Helper()
	return configuredFor(t, box.ClusterName)
}

// configuredFor is the provider with the name of a cluster, or without one if that is empty.
func configuredFor(t testing.TB, clusterName string) tfprotov6.ProviderServer {
	t.Helper()
	server, err := factories()["packhorse"]()
	if err != nil {
		t.Fatal(err)
	}
	schema := schemasOf(t, server)
	block := schema.Provider.ValueType().(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, typ := range block.AttributeTypes {
		values[name] = tftypes.NewValue(typ, nil)
	}
	if clusterName != "" {
		values["cluster_name"] = tftypes.NewValue(tftypes.String, clusterName)
	}
	config, err := tfprotov6.NewDynamicValue(block, tftypes.NewValue(block, values))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.ConfigureProvider(t.Context(), &tfprotov6.ConfigureProviderRequest{Config: &config})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatalf("configure: %v %v", err, resp.Diagnostics)
	}
	return server
}

func identity(t *testing.T, name string) *tfprotov6.ResourceIdentityData {
	t.Helper()
	value, err := tfprotov6.NewDynamicValue(identityType, tftypes.NewValue(identityType, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, name)}))
	if err != nil {
		t.Fatal(err)
	}
	return &tfprotov6.ResourceIdentityData{IdentityData: &value}
}

func TestImportByIdentity(t *testing.T) {
	name := "identified"
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{weight: 7}`)
	defer remove(t, api.ProvisionerGVR, name)
	server := configured(t)
	imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: "packhorse_provisioner", Identity: identity(t, name),
	})
	if err != nil || len(imported.Diagnostics) > 0 {
		t.Fatalf("import: %v %v", err, imported.Diagnostics)
	}
	first := imported.ImportedResources[0]
	read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "packhorse_provisioner", CurrentState: first.State, CurrentIdentity: first.Identity, Private: first.Private,
	})
	if err != nil || len(read.Diagnostics) > 0 {
		t.Fatalf("read: %v %v", err, read.Diagnostics)
	}
	if got := nameIn(t, read.NewIdentity); got != name {
		t.Errorf("identity = %q, want %q", got, name)
	}
}

// A Read that comes back early has set the identity nevertheless, also of a
// state from before there were identities.
func TestReadSetsTheIdentityOfWhatIsGone(t *testing.T) {
	server := configured(t)
	for _, resource := range []string{"packhorse_provisioner", "packhorse_node_profile", "packhorse_irsa_role", "packhorse_node_role", "packhorse_interruption_queue"} {
		t.Run(resource, func(t *testing.T) {
			imported, err := server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{TypeName: resource, ID: "nobody"})
			if err != nil || len(imported.Diagnostics) > 0 {
				t.Fatalf("import: %v %v", err, imported.Diagnostics)
			}
			read, err := server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: resource, CurrentState: imported.ImportedResources[0].State})
			if err != nil || len(read.Diagnostics) > 0 {
				t.Fatalf("read: %v %v", err, read.Diagnostics)
			}
			if got := nameIn(t, read.NewIdentity); got != "nobody" {
				t.Errorf("identity = %q, want nobody", got)
			}
		})
	}
}

func nameIn(t *testing.T, data *tfprotov6.ResourceIdentityData) string {
	t.Helper()
	value, err := data.IdentityData.Unmarshal(identityType)
	if err != nil {
		t.Fatal(err)
	}
	var attributes map[string]tftypes.Value
	if err := value.As(&attributes); err != nil {
		t.Fatal(err)
	}
	var name string
	if err := attributes["name"].As(&name); err != nil {
		t.Fatal(err)
	}
	return name
}
