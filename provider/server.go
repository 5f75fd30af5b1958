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

// NewServer returns what answers Terraform: the plugin framework. Beside it, the
// names of what resources have in their states are noted. Terraform hands over each
// state to be upgraded before it plans, with -refresh=false too, and that of a tainted
// resource, which its plan does not see.
func NewServer(version string, connect session.Connect) func() tfprotov6.ProviderServer {
	return func() tfprotov6.ProviderServer {
		p := &packhorse{version: version, connect: connect}
		return &server{providerserver.NewProtocol6(p)().(framework), p, namesOfTypes(p)}
	}
}

// framework is what the plugin framework's server can do of what the provider has.
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

// UpgradeResourceState notes what the state names, and leaves the rest to the framework.
func (s *server) UpgradeResourceState(ctx context.Context, req *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if s.provider.session != nil && req.RawState != nil {
		var state map[string]any
		_ = json.Unmarshal(req.RawState.JSON, &state) // of which the framework tells the error
		for _, n := range s.names[req.TypeName] {
			if name, _ := state[n.Attribute].(string); name != "" {
				s.provider.session.Claims.Read(n.Title, name)
			}
		}
	}
	return s.framework.UpgradeResourceState(ctx, req)
}
