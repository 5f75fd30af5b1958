package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// several joins reasons, at most so many of them.
func several(parts []string, most int) string {
	parts = slices.Compact(slices.Sorted(slices.Values(parts)))
	if more := len(parts) - most; more > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more of its constraints", more))
	}
	return strings.Join(parts, " and ")
}

// where lists the domains that have pods.
func where(count map[string]int64) string {
	out := slices.DeleteFunc(model.SortedKeys(count), func(name string) bool { return count[name] <= 0 })
	if len(out) == 0 {
		return "none"
	}
	return enumerate(out)
}

// numbers says how many pods each domain has: "2 in a, 0 in b".
func numbers(count map[string]int64) string {
	var out []string
	for _, name := range model.SortedKeys(count) {
		out = append(out, fmt.Sprintf("%d in %s", count[name], name))
	}
	return enumerate(out)
}

// maxListed is how many domains a reason lists.
const maxListed = 6

// enumerate joins a list, and cuts one that is too long to read.
func enumerate(list []string) string {
	if len(list) > maxListed {
		list = append(slices.Clone(list[:maxListed]), "…")
	}
	return strings.Join(list, ", ")
}

// joined identifies a set of texts.
func joined(set map[string]bool) string { return strings.Join(model.SortedKeys(set), "\x01") }
