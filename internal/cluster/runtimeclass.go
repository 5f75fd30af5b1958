package cluster

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
)

// Admit does to a pod of a RuntimeClass what the API server does at its creation: it adds the
// overhead, node selector and tolerations of the class
// (https://kubernetes.io/docs/concepts/containers/runtime-class/#scheduling). It returns the
// labels for which the pod selects another value, because of which the API server refuses it.
func Admit(spec *corev1.PodSpec, class *nodev1.RuntimeClass) (conflicts []string) {
	if class.Overhead != nil {
		spec.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling == nil {
		return nil
	}
	selector := maps.Clone(class.Scheduling.NodeSelector)
	for label, value := range spec.NodeSelector {
		if of, both := selector[label]; both && of != value {
			conflicts = append(conflicts, label)
		}
	}
	if len(selector) > 0 {
		maps.Copy(selector, spec.NodeSelector)
		spec.NodeSelector = selector
	}
	spec.Tolerations = slices.Concat(spec.Tolerations, class.Scheduling.Tolerations)
	slices.Sort(conflicts)
	return conflicts
}
