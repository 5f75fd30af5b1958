package cluster

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// MostGuide is the highest grade by which pods are led away from a node.
const MostGuide = 3

// GradeSurge is the grade of pods that go because another one has come in their place: their
// owner ends them before all that are only to be ended sooner.
const GradeSurge = 1000

// guideTaint begins the keys of the soft taints by which pods are led away from nodes that
// should become empty. kube-scheduler prefers nodes with fewer of them, and never leaves a
// pod without a node because of them.
const guideTaint = "packhorse.io/less-preferred-"

// WithGuide returns the taints with so many soft taints of ours.
func WithGuide(taints []corev1.Taint, grade int) []corev1.Taint {
	out := slices.DeleteFunc(slices.Clone(taints), isGuide)
	for i := range min(grade, MostGuide) {
		out = append(out, corev1.Taint{Key: guideTaint + strconv.Itoa(i+1), Effect: corev1.TaintEffectPreferNoSchedule})
	}
	return out
}

func isGuide(t corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectPreferNoSchedule && strings.HasPrefix(t.Key, guideTaint)
}

// withoutGuide returns the taints without ours, and how many there were. Decisions ignore the agent's soft taints,
// because these are the result of earlier decisions.
func withoutGuide(taints []corev1.Taint) (others []corev1.Taint, grade int) {
	if !slices.ContainsFunc(taints, isGuide) {
		return taints, 0
	}
	others = slices.DeleteFunc(slices.Clone(taints), isGuide)
	return others, len(taints) - len(others)
}
