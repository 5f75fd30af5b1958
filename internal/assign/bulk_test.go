package assign

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// TestBulk names what a pod has most of, of all kinds.
func TestBulk(t *testing.T) {
	anti := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: make([]corev1.PodAffinityTerm, 3)}}
	for want, of := range map[string]cluster.Template{
		"it has 2 topology spread constraints and 1 host ports": {Spread: make([]corev1.TopologySpreadConstraint, 2), HostPorts: make([]cluster.HostPort, 1)},
		"it has 3 pod affinity terms":                           {Affinity: anti},
		"it has 5 tolerations and 3 pod affinity terms":         {Affinity: anti, Tolerations: make([]corev1.Toleration, 5)},
	} {
		if got := bulk(&of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
