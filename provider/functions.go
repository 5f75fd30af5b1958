package provider

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/functions"
)

// Functions returns what needs no provider block.
func (p *packhorse) Functions(ctx context.Context) []func() function.Function {
	return functions.All(
		argumentsOf(provisionerSchema(ctx), provisioner{}),
		argumentsOf(nodeProfileSchema(ctx), nodeProfile{}),
	)
}

// argumentsOf returns the arguments of a kind without those that are no part of
// its manifest.
func argumentsOf(s schema.Schema, k kind) functions.Arguments {
	codec := k.codec()
	out := functions.Arguments{Types: map[string]attr.Type{}, Codec: codec}
	for name, a := range s.Attributes {
		if !slices.Contains(codec.Local, name) {
			out.Types[name] = a.GetType()
		}
	}
	return out
}
