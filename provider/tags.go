package provider

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// tagAttributes are the tags of an AWS resource; what is its word for it.
func tagAttributes(what string) attributes {
	return attributes{
		"tags": schema.MapAttribute{
			Optional: true, ElementType: types.StringType, MarkdownDescription: "Tags of " + what + ", in addition to the provider's `default_tags`.",
			Validators: []validator.Map{validTags{}},
		},
		"tags_all": schema.MapAttribute{
			Computed: true, ElementType: types.StringType, MarkdownDescription: "All tags of the resource, including the " +
				"provider's `default_tags`.",
		},
	}
}

// withDefaultTags adds the provider's default tags.
func withDefaultTags(ctx context.Context, tags types.Map, defaults map[string]string) (types.Map, diag.Diagnostics) {
	all := maps.Clone(defaults)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, mapStrings(tags))
	return types.MapValueFrom(ctx, types.StringType, all)
}

// adoptTags declares the tags of an imported resource: those that are not the
// provider's defaults are its own.
func adoptTags(ctx context.Context, live, defaults map[string]string, diags *diag.Diagnostics) (own, all types.Map) {
	all = collect(types.MapValueFrom(ctx, types.StringType, live))(diags)
	rest := maps.Clone(live)
	maps.DeleteFunc(rest, func(key, value string) bool { d, ok := defaults[key]; return ok && d == value })
	if len(rest) == 0 {
		return types.MapNull(types.StringType), all
	}
	return collect(types.MapValueFrom(ctx, types.StringType, rest))(diags), all
}

// refreshTags returns what is left of the declared tags.
func refreshTags(ctx context.Context, declared types.Map, live map[string]string, diags *diag.Diagnostics) types.Map {
	if declared.IsNull() {
		return declared
	}
	return collect(types.MapValueFrom(ctx, types.StringType, common(mapStrings(declared), live)))(diags)
}
