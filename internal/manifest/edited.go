package manifest

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// compare notes where the template asks for other amounts than pods that exist, as after an edit of the files. What
// admission has added to the pods does not matter.
func (w *workload) compare(pods []*corev1.Pod) {
	for i := range w.template.Spec.Containers {
		c := &w.template.Spec.Containers[i]
		if w.edited == "" && slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return differs(c, pod) }) {
			w.edited = fmt.Sprintf("%s.containers[%d].resources", w.spec, i)
		}
	}
}

// differs reports whether the pod has the container with other requests, as far as the container has some.
func differs(c *corev1.Container, pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		if has := &pod.Spec.Containers[i]; has.Name == c.Name {
			for name, wanted := range c.Resources.Requests {
				if got, ok := has.Resources.Requests[name]; !ok || got.Cmp(wanted) != 0 {
					return true
				}
			}
		}
	}
	return false
}
