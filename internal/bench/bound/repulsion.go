package bound

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
)

// repulsion is a resource of which each machine has one, and each pod of the largest group that
// repels its like asks for one.
const repulsion = "repulsion"

// requests returns what a pod asks for. Largest is the repulsion of the largest group.
func requests(p *corev1.Pod, largest string) amount.List {
	out := check.Requests(p)
	if largest != "" && ownRepulsion(p) == largest {
		out[repulsion] = 1
	}
	return out
}

// largestRepulsion returns the repulsion that most pods share, or "" if no pod has one. The
// machines that it needs are enough for those of smaller groups.
func largestRepulsion(pods []*corev1.Pod) string {
	largest, count := "", map[string]int{}
	for _, p := range pods {
		if name := ownRepulsion(p); name != "" {
			if count[name]++; count[name] > count[largest] {
				largest = name
			}
		}
	}
	return largest
}

// ownRepulsion names the namespace and selector by which a pod keeps pods of its own labels off
// its host, or returns "" if it does not.
func ownRepulsion(p *corev1.Pod) string {
	if p.Spec.Affinity == nil || p.Spec.Affinity.PodAntiAffinity == nil {
		return ""
	}
	for _, t := range p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		if t.TopologyKey == corev1.LabelHostname && t.LabelSelector != nil && selects(t.LabelSelector.MatchLabels, p.Labels) && len(t.LabelSelector.MatchExpressions) == 0 {
			return fmt.Sprint(p.Namespace, t.LabelSelector.MatchLabels)
		}
	}
	return ""
}

func selects(wanted, labels map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}
