package aws

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// idFilter is the name under which EC2 filters a kind of resource by its id.
const (
	filterSubnetID        = "subnet-id"
	filterSecurityGroupID = "group-id"
	filterImageID         = "image-id"
)

// filters translates a selector: every key must match, each by one of its
// comma-separated alternatives, which may hold wildcards. Filters are in the
// order of the keys.
func filters(selector map[string]string, idFilter string) []types.Filter {
	var out []types.Filter
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		alternatives := api.SplitAlternatives(selector[key])
		switch key {
		case api.SelectorIDs, api.SelectorIDsLegacy:
			out = append(out, filter(idFilter, alternatives...))
		case api.SelectorAMIName:
			out = append(out, filter("name", alternatives...))
		case api.SelectorGroupName:
			out = append(out, filter("group-name", alternatives...))
		case api.SelectorAMIOwners: // a parameter of its own
		default:
			if len(alternatives) == 0 || slices.Contains(alternatives, "*") {
				out = append(out, filter("tag-key", key))
			} else {
				out = append(out, filter("tag:"+key, alternatives...))
			}
		}
	}
	return out
}

func filter(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

// selectorKeys describes selectors of which any may match.
func selectorKeys(selectors []map[string]string) string {
	keys := make([]string, len(selectors))
	for i, s := range selectors {
		keys[i] = selectorKey(s)
	}
	return strings.Join(keys, " or ")
}

// selectorKey identifies a selector; it doubles as its description in messages.
func selectorKey(selector map[string]string) string {
	text, err := json.Marshal(selector) // sorted by key
	if err != nil {
		return strings.Join(slices.Sorted(maps.Keys(selector)), ",")
	}
	return string(text)
}
