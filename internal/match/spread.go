package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// OtherSpreadKeys lists the keys of a pod's other required spreads.
func OtherSpreadKeys(t *cluster.Template, c *corev1.TopologySpreadConstraint) []string {
	var out []string
	for i := range t.Spread {
		if s := &t.Spread[i]; s.WhenUnsatisfiable != corev1.ScheduleAnyway && s.TopologyKey != c.TopologyKey {
			out = append(out, api.NormalizeLabel(s.TopologyKey))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// PlacesWithoutVolumes returns those of a pod's places that follow from its own node selector and
// affinity, or nil where it has none: spreads do not look at volumes.
func PlacesWithoutVolumes(t *cluster.Template, places []Requirements) []Requirements {
	if len(t.NodeSelector) == 0 && (t.Affinity == nil || t.Affinity.NodeAffinity == nil || t.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil) {
		return nil
	}
	if len(t.Claims) == 0 {
		return places
	}
	own, miss := Places(t, []Requirements{nil})
	if miss.Missed() {
		return places
	}
	return own
}
