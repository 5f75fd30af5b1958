package awsresource

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// WithDefaultTags adds the provider's default tags.
func WithDefaultTags(ctx context.Context, tags types.Map, defaults map[string]string) (types.Map, diag.Diagnostics) {
	all := maps.Clone(defaults)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, value.Strings(tags))
	return types.MapValueFrom(ctx, types.StringType, all)
}

// AdoptTags declares the tags of an imported resource: those that are not the
// provider's defaults are its own.
func AdoptTags(ctx context.Context, live, defaults map[string]string, diags *diag.Diagnostics) (own, all types.Map) {
	all = value.Collect(types.MapValueFrom(ctx, types.StringType, live))(diags)
	rest := maps.Clone(live)
	maps.DeleteFunc(rest, func(key, value string) bool { d, ok := defaults[key]; return ok && d == value })
	if len(rest) == 0 {
		return types.MapNull(types.StringType), all
	}
	return value.Collect(types.MapValueFrom(ctx, types.StringType, rest))(diags), all
}

// RefreshTags returns what is left of the declared tags.
func RefreshTags(ctx context.Context, declared types.Map, live map[string]string, diags *diag.Diagnostics) types.Map {
	if declared.IsNull() {
		return declared
	}
	return value.Collect(types.MapValueFrom(ctx, types.StringType, Common(value.Strings(declared), live)))(diags)
}
