package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	functions "github.com/packhorse-io/terraform-provider-packhorse/provider/function"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/customresource"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/nodeprofile"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/resource/provisioner"
)

// Functions returns the provider's functions.
func (p *packhorse) Functions(ctx context.Context) []func() function.Function {
	return functions.All(
		argumentsOf(provisioner.Kind{}.Schema(ctx), provisioner.Kind{}),
		argumentsOf(nodeprofile.Kind{}.Schema(ctx), nodeprofile.Kind{}),
	)
}

// argumentsOf returns the arguments of a kind that are part of its manifest.
func argumentsOf(s schema.Schema, k customresource.Kind) functions.Arguments {
	codec := k.Codec()
	out := functions.Arguments{Types: map[string]attr.Type{}, Codec: codec}
	for name, a := range s.Attributes {
		if !slices.Contains(codec.Local, name) {
			out.Types[name] = a.GetType()
		}
	}
	return out
}
