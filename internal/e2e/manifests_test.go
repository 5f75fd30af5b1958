package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestManifestsFromTheWild applies Provisioners as people have written them for
// years, with kubectl, and sees them do what they say.
func TestManifestsFromTheWild(t *testing.T) {
	s := newSceneIn(t, "us-west-2")
	s.deleteProvisioner("default")
	s.untilNoNodes("default")

	t.Run("spot workers with an inline provider", func(t *testing.T) {
		s := s.in(t)
		s.applyWithKubectl("testdata/provisioner-spot-workers.yaml")
		s.apply(deployment("worker", "default", 6, "900m", "1Gi"))
		s.untilRunning("worker", 6)
		for _, n := range s.nodesOf("default") {
			if n.Labels["node-type"] != "worker" || n.Labels[api.LabelCapacityType] != api.CapacitySpot {
				t.Errorf("node %s: node-type %q, capacity type %q", n.Name, n.Labels["node-type"], n.Labels[api.LabelCapacityType])
			}
			if it := n.Labels[api.LabelInstanceType]; !slices.Contains([]string{"m5.large", "m5.xlarge", "c5.xlarge"}, it) {
				t.Errorf("node %s is a %s", n.Name, it)
			}
		}
		s.delete("worker")
		s.untilNoNodes("default") // ttlSecondsAfterEmpty
	})

	t.Run("tainted, in two zones", func(t *testing.T) {
		s := s.in(t)
		s.applyWithKubectl("testdata/provisioner-tainted-zones.yaml")
		s.apply(deployment("intolerant", "tainted", 1, "500m", "1Gi"))
		tolerant := strings.Replace(deployment("tolerant", "tainted", 4, "500m", "1Gi"), "      containers:",
			"      tolerations: [{key: example.com/special-taint, operator: Exists}]\n      containers:", 1)
		s.apply(tolerant)
		s.untilRunning("tolerant", 4)
		for _, n := range s.nodesOf("tainted") {
			taint := corev1.Taint{Key: "example.com/special-taint", Effect: corev1.TaintEffectNoSchedule}
			if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
				t.Errorf("node %s has the taints %v", n.Name, n.Spec.Taints)
			}
			if z := n.Labels[api.LabelZone]; z != "us-west-2a" && z != "us-west-2b" {
				t.Errorf("node %s is in %s", n.Name, z)
			}
			if n.Labels["billing-team"] != "my-team" {
				t.Errorf("node %s: billing-team %q", n.Name, n.Labels["billing-team"])
			}
		}
		pods, err := s.pods(t.Context(), "app=intolerant")
		if err != nil || len(pods) != 1 || pods[0].Spec.NodeName != "" {
			t.Errorf("the pod without the toleration: %d pods, %v", len(pods), err)
		}
	})
}

// applyWithKubectl applies a manifest with the cluster's name filled in.
func (s *scene) applyWithKubectl(path string) {
	s.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.kubectl(strings.ReplaceAll(string(text), "CLUSTER", s.Sandbox.ClusterName), "apply", "-f", "-")
}
