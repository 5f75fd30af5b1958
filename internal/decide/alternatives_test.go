package decide

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// TestSpreadOverAlternatives has pods that a spread allows one more of in a domain only after
// those of another alternative have got their places there.
func TestSpreadOverAlternatives(t *testing.T) {
	terms := func(requirements ...string) string {
		return "{requests: {cpu: 1.1}, " + requires(requirements...) + ", " + spread("$zone") + "}"
	}
	in := func(zone string) corev1.TopologySelectorTerm {
		return corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.ebs.csi.aws.com/zone", Values: []string{zone}}}}
	}
	for _, c := range []struct {
		name, text string
		property   func(*Machine) string
		want       string
	}{
		{"two terms", terms("$zone In a", "OR", "$zone In b"), byZone, "30 a, 30 b"},
		{"three terms", terms("$zone In a", "OR", "$zone In b", "OR", "$zone In c"), byZone, "20 a, 20 b, 20 c"},
		{"terms of different types", terms("$zone In a", "$type In small", "OR", "$zone In b", "$type In std"), func(m *Machine) string { return byType(m) + " in " + byZone(m) }, "30 small in a, 30 std in b"},
		{"the first of two terms for the same zones", terms("$type In small", "OR", "$type In std"), byType, "60 small"},
		{"allowed topologies of a StorageClass", "{requests: {cpu: 1.1}, " + ephemeral("zonal") + ", " + spread("$zone") + "}", byZone, "30 a, 30 b"},
		{
			"capacity types", strings.ReplaceAll(terms("$capacity In spot", "OR", "$capacity In on-demand"), "topologyKey: $zone", "topologyKey: $capacity"),
			byCapacity, "30 on-demand, 30 spot",
		},
		{"a preference that each term meets", strings.Replace(terms("$zone In a", "OR", "$zone In b"), "nodeAffinity: {", "nodeAffinity: {"+prefers("1 $type In std")+", ", 1), func(m *Machine) string { return byType(m) + " in " + byZone(m) }, "30 std in a, 30 std in b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, catalogueA()).provisioner("default", "{}").pods(60, "p", c.text)
			w.in.Snapshot.StorageClasses = append(w.in.Snapshot.StorageClasses, cluster.StorageClass{
				Name: "zonal", Driver: "ebs", WaitForFirstConsumer: true, AllowedTopologies: []corev1.TopologySelectorTerm{in("a"), in("b")},
			})
			plan := w.decide()
			if got := podsBy(plan, c.property, nil); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			verify(t, &w.in, &plan)
		})
	}
}
