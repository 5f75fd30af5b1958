package awsresource

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// WithDefaultTags adds the provider's default tags to those of a resource.
func (r *Named) WithDefaultTags(tags types.Map) types.Map {
	all := map[string]string{}
	maps.Copy(all, r.Session.Config.DefaultTags)
	maps.Copy(all, value.Strings(tags))
	return value.Map(all)
}

// AdoptTags declares the tags of an imported resource: those that are not the
// provider's defaults are its own.
func AdoptTags(live, defaults map[string]string) (own, all types.Map) {
	rest := maps.Clone(live)
	maps.DeleteFunc(rest, func(key, value string) bool { d, ok := defaults[key]; return ok && d == value })
	if len(rest) == 0 {
		return types.MapNull(types.StringType), value.Map(live)
	}
	return value.Map(rest), value.Map(live)
}

// RefreshTags returns what is left of the declared tags.
func RefreshTags(declared types.Map, live map[string]string) types.Map {
	if declared.IsNull() {
		return declared
	}
	return value.Map(Common(value.Strings(declared), live))
}
