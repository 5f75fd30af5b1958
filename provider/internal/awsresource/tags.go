package awsresource

import (
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/asset"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/value"
)

// WithDefaultTags adds the provider's default tags to those of a resource. The result is unknown while these are.
func (r *Named) WithDefaultTags(tags types.Map) types.Map {
	if r.Session.Config.UnknownTags() {
		return types.MapUnknown(types.StringType)
	}
	all := map[string]string{}
	maps.Copy(all, r.Session.Config.DefaultTags)
	maps.Copy(all, value.Strings(tags))
	return value.Map(all)
}

// ImportedTags returns the attributes tags and tags_all of an imported resource. Its own tags are those
// that are not default tags of the provider.
func ImportedTags(live, defaults map[string]string) (own, all types.Map) {
	live = asset.OwnTags(live)
	rest := maps.Clone(live)
	maps.DeleteFunc(rest, func(key, value string) bool { d, ok := defaults[key]; return ok && d == value })
	if len(rest) == 0 {
		return types.MapNull(types.StringType), value.Map(live)
	}
	return value.Map(rest), value.Map(live)
}

// unfinished is the value in tags_all of a tag that a failed update may have changed on only some of what
// a resource consists of, such as a role and its instance profile. AWS accepts no such value, so that the
// next update sets or removes the tag everywhere.
const unfinished = "(unfinished)"

// EitherTags returns tags_all after an update that has failed: the tags of both declarations, of which
// those that were to change are unfinished.
func EitherTags(before, now types.Map) types.Map {
	was, is := value.Strings(before), value.Strings(now)
	tags := maps.Clone(was)
	maps.Copy(tags, is)
	for key := range tags {
		old, kept := was[key]
		if current, declared := is[key]; !kept || !declared || old != current {
			tags[key] = unfinished
		}
	}
	return value.Map(tags)
}

// RefreshTags returns the live values of the declared tags. A tag that is declared as null is none, and
// one that is unfinished stays so.
func RefreshTags(declared types.Map, live map[string]string) types.Map {
	if declared.IsNull() {
		return declared
	}
	tags := value.Map(Common(value.Strings(declared), live)).Elements()
	for key, tag := range declared.Elements() {
		if tag.IsNull() || value.TextOf(tag) == unfinished {
			tags[key] = tag
		}
	}
	return types.MapValueMust(types.StringType, tags)
}
