package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Soft taints of ours are counted and otherwise not seen; those of others stay as they are.
func TestGuide(t *testing.T) {
	others := []corev1.Taint{
		{Key: "team", Effect: corev1.TaintEffectPreferNoSchedule},
		{Key: guideTaint + "1", Effect: corev1.TaintEffectNoSchedule},
	}
	taints := others
	for _, grade := range []int{0, 2, 3, 1, 7, 0} {
		taints = WithGuide(taints, grade)
		n := FromNode(&corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}, nil)
		if want := min(grade, MostGuide); n.Guide != want || len(taints) != len(others)+want {
			t.Errorf("grade %d: %d of %v", grade, n.Guide, taints)
		}
		if len(n.Taints) != len(others) || n.Taints[0] != others[0] || n.Taints[1] != others[1] {
			t.Errorf("grade %d: the others are %v", grade, n.Taints)
		}
	}
}
