package api

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// knownResources are the resources that machines have, and what limits call the number of
// nodes. Others are of the user's own, such as example.com/licence.
var knownResources = []string{
	"cpu", "memory", "ephemeral-storage", "pods", "nodes", "hugepages-2Mi", "hugepages-1Gi",
	"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore",
	"vpc.amazonaws.com/pod-eni", "vpc.amazonaws.com/efa",
}

// labelsToKnow are the well-known labels and their aliases.
var labelsToKnow = sync.OnceValue(func() []string {
	return append(WellKnownLabels(), slices.Sorted(maps.Keys(aliases))...)
})

// Misspelt returns the known name that somebody meant by an unknown one. It is
// stricter than Suggest, which looks for the nearest name once it is clear that
// the name is wrong: here a name of the user's own must not be taken for a
// misspelling. So the two differ in case and separators, in two letters (one in a
// short name), or are the same name in two domains that hardly differ.
func Misspelt(unknown string, known []string) (string, bool) {
	if len(unknown) > maxSuggestLength || slices.Contains(known, unknown) {
		return "", false
	}
	i := slices.IndexFunc(known, func(k string) bool { return slip(unknown, k) })
	if i < 0 {
		return "", false
	}
	return NormalizeLabel(known[i]), true
}

func slip(a, b string) bool {
	const short = 6
	slips := 2
	if len(a) < short {
		slips = 1
	}
	const separators = 3 // that one of them may lack
	if length := len(a) - len(b); max(length, -length) <= slips+separators && editDistance(fold(a), fold(b)) <= slips {
		return true
	}
	domainA, nameA, qualifiedA := strings.Cut(a, "/")
	domainB, nameB, qualifiedB := strings.Cut(b, "/")
	return qualifiedA && qualifiedB && strings.EqualFold(nameA, nameB) && editDistance(domainA, domainB) <= len(domainB)/4
}
