package cluster

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// FromPodDisruptionBudget converts a budget. One that its controller has not
// brought up to date allows nothing, as in the Eviction API, and is not known to be
// healthy.
func FromPodDisruptionBudget(b *policyv1.PodDisruptionBudget) PodDisruptionBudget {
	out := PodDisruptionBudget{Namespace: b.Namespace, Name: b.Name, Selector: b.Spec.Selector}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil {
		out.UnreadyAnyway = *p == policyv1.AlwaysAllow
	}
	if b.Status.ObservedGeneration >= b.Generation {
		out.DisruptionsAllowed = b.Status.DisruptionsAllowed
		out.Healthy = b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
		out.Strict = b.Status.ExpectedPods > 0 && b.Status.DesiredHealthy >= b.Status.ExpectedPods
	}
	return out
}

// Selects reports whether the budget is for pods with these labels. A selector with an error selects nothing: the
// API server refuses it.
func (b *PodDisruptionBudget) Selects(namespace string, pod labels.Set) bool {
	if b.Namespace != namespace {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Selector)
	return err == nil && selector.Matches(pod)
}

// Forbids reports whether the Eviction API refuses for now to evict a pod that the budget selects. The API
// looks at no budget if the pod's containers have not been started.
func (b *PodDisruptionBudget) Forbids(p *Pod) bool {
	return p.Running && b.DisruptionsAllowed <= 0 && (p.Ready || !b.UnreadyAnyway && !b.Healthy)
}
