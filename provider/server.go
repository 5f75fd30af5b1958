package provider

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/session"
)

// NewServer returns a constructor of the server that answers Terraform. It is that of the plugin framework,
// and also notes the names in the states of resources. For this, it uses the requests to upgrade a state:
// Terraform sends one for each resource before it plans, even with -refresh=false and for tainted resources,
// whose plans have no state.
func NewServer(version string, connect session.Connect) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		p := &packhorse{version: version, connect: connect}
		return &server{providerserver.NewProtocol6(p)().(framework), p, namesOfTypes(p)}
	}
}

// framework has the methods of the plugin framework's server that the provider needs.
type framework interface {
	tfprotov6.ProviderServer
	tfprotov6.ListResourceServer
}

type server struct {
	framework
	provider *packhorse
	names    map[string][]lifecycle.Naming // by the type of resource
}

func namesOfTypes(p *packhorse) map[string][]lifecycle.Naming {
	out := map[string][]lifecycle.Naming{}
	for _, made := range p.Resources(context.Background()) {
		if r, ok := made().(lifecycle.Claimant); ok {
			var meta resource.MetadataResponse
			r.Metadata(context.Background(), resource.MetadataRequest{ProviderTypeName: typeName}, &meta)
			out[meta.TypeName] = r.Namings()
		}
	}
	return out
}

// UpgradeResourceState notes the names in the state and passes the request on to the framework.
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if s.provider.session != nil && req.RawState != nil {
		var state map[string]any
		_ = json.Unmarshal(req.RawState.JSON, &state) // the framework reports the error
		for _, n := range s.names[req.TypeName] {
			if name, _ := state[n.Attribute].(string); name != "" {
				s.provider.session.Claims.Read(n.Title, name)
			}
		}
	}
	return s.framework.UpgradeResourceState(ctx, req)
}
