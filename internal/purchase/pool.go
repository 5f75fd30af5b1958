package purchase

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
)

// Deployments that are spread over zones, or counted by others, make many classes
// that need the same and can have it in the same places. Their pod groups are bought for
// as one: which pod comes onto which machine does not matter to the price.

// pooled returns the pod groups of which something is left to be bought, those that are
// alike as one.
func pooled(groups []*assign.PodGroup) []*assign.PodGroup {
	var out []*assign.PodGroup
	known := map[string]int{} // places in out
	var key []byte
	for _, g := range groups {
		if g.N == 0 {
			continue
		}
		if len(g.PerNode) > 0 || len(g.Parts) > 1 {
			out = append(out, g)
			continue
		}
		key = g.AppendKey(key[:0])
		at, ok := known[string(key)]
		switch {
		case !ok:
			known[string(key)] = len(out)
			out = append(out, g)
		case !slices.Equal(out[at].Mask, g.Mask):
			out = append(out, g)
		default:
			out[at] = out[at].With(g)
		}
	}
	return out
}
