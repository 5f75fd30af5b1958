package awsresource

import (
	"maps"
	"strings"

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

// AdoptTags returns the attributes tags and tags_all of an imported resource. Its own tags are those
// that are not default tags of the provider. Tags of AWS itself, such as those of CloudFormation, are
// left out, because nobody else can change them.
func AdoptTags(live, defaults map[string]string) (own, all types.Map) {
	live = maps.Clone(live)
	maps.DeleteFunc(live, func(key, _ string) bool { return strings.HasPrefix(key, "aws:") })
	rest := maps.Clone(live)
	maps.DeleteFunc(rest, func(key, value string) bool { d, ok := defaults[key]; return ok && d == value })
	if len(rest) == 0 {
		return types.MapNull(types.StringType), value.Map(live)
	}
	return value.Map(rest), value.Map(live)
}

// RefreshTags returns the live values of the declared tags. A tag that is declared as null is none.
func RefreshTags(declared types.Map, live map[string]string) types.Map {
	if declared.IsNull() {
		return declared
	}
	tags := value.Map(Common(value.Strings(declared), live)).Elements()
	for key, tag := range declared.Elements() {
		if tag.IsNull() {
			tags[key] = tag
		}
	}
	return types.MapValueMust(types.StringType, tags)
}
