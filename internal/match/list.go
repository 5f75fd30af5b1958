package match

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Enumerate joins a list with commas. Of one with more than so many items it leaves out the last.
func Enumerate(list []string, most int) string {
	if len(list) > most {
		list = append(slices.Clone(list[:most]), "…")
	}
	return strings.Join(list, ", ")
}

// Several joins reasons, at most so many of them.
func Several(reasons []string, most int) string {
	reasons = slices.Compact(slices.Sorted(slices.Values(reasons)))
	if more := len(reasons) - most; more > 0 {
		reasons = append(reasons[:most], fmt.Sprintf("%d more of its constraints", more))
	}
	return strings.Join(reasons, " and ")
}

// maxDomains is how many domains a reason lists.
const maxDomains = 6

// Occupied lists the domains that have pods.
func Occupied(pods map[string]int64) string {
	out := slices.DeleteFunc(slices.Sorted(maps.Keys(pods)), func(domain string) bool { return pods[domain] <= 0 })
	if len(out) == 0 {
		return "none"
	}
	return Enumerate(out, maxDomains)
}

// Counts says how many pods each domain has: "2 in a, 0 in b".
func Counts(pods map[string]int64) string {
	var out []string
	for _, domain := range slices.Sorted(maps.Keys(pods)) {
		out = append(out, fmt.Sprintf("%d in %s", pods[domain], domain))
	}
	return Enumerate(out, maxDomains)
}
