package onboard

import (
	"slices"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// The limit of a suggestion is the group's maximum size, also where the sizes of its machines are not known.
func TestSuggestionsHaveALimit(t *testing.T) {
	for name, c := range map[string]struct {
		types []string
		limit string
		noted bool // that instance types are to be set
	}{
		"known types":                    {[]string{"g5.xlarge", "g5.2xlarge"}, `{ cpu = "32" }`, false},
		"a type that is not known":       {[]string{"g99.xlarge"}, `{ nodes = "4" }`, false},
		"that of a launch template only": {nil, `{ nodes = "4" }`, true},
	} {
		items := configured(suggestGroup(&offer.NodeGroup{Kind: offer.ManagedNodeGroup, Name: "gpu", InstanceTypes: c.types, Max: 4, LaunchTemplate: "gpu"}))
		got := items[1]
		noted := slices.ContainsFunc(got.Notes, func(note string) bool {
			return strings.Contains(note, "require the instance types of its launch template")
		})
		if fields := strings.Join(strings.Fields(got.Configuration), " "); !strings.Contains(fields, "limits = "+c.limit) || noted != c.noted {
			t.Errorf("%s: notes %q\n%s", name, got.Notes, got.Configuration)
		}
	}
}
