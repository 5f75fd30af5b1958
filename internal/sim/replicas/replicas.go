// Package replicas says which pods the controllers of workloads make and stop, and how many of them
// disruption budgets let go.
package replicas

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Active reports whether a pod counts as one of its owner's: it has not failed and is not being
// deleted.
func Active(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed
}

// Of returns the active pods of a workload, in the order of Order.
func Of(pods map[types.UID]*corev1.Pod, workload string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range pods {
		if Belongs(p, workload) && Active(p) {
			out = append(out, p)
		}
	}
	Order(out)
	return out
}

// ByWorkload returns the same of all workloads, not ordered.
func ByWorkload(pods map[types.UID]*corev1.Pod) map[string][]*corev1.Pod {
	out := map[string][]*corev1.Pod{}
	for _, p := range pods {
		if name := p.Labels["app"]; name != "" && Active(p) && Belongs(p, name) {
			out[name] = append(out[name], p)
		}
	}
	return out
}

// Belongs reports whether the pod is the workload's.
func Belongs(p *corev1.Pod, workload string) bool {
	o := metav1.GetControllerOf(p)
	return o != nil && (o.Name == workload || p.Labels["app"] == workload && o.Kind != "DaemonSet")
}

// Ready reports whether a pod runs and is ready.
func Ready(p *corev1.Pod) bool { return unready(p) == 0 }

// unready is 2 for a pod that does not run, and 1 for one that runs and is not ready.
func unready(p *corev1.Pod) int {
	switch {
	case p.Status.Phase != corev1.PodRunning:
		return 2
	case !slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady }):
		return 1
	}
	return 0
}

// Order sorts pods as a ReplicaSet keeps them: those that are bound first, then those that run and are
// ready, those with the highest deletion cost, those with the fewest others on their node, and the
// oldest.
func Order(pods []*corev1.Pod) {
	if len(pods) < 2 {
		return
	}
	together := map[string]int{}
	for _, p := range pods {
		together[p.Spec.NodeName]++
	}
	bound := func(p *corev1.Pod) int {
		if p.Spec.NodeName != "" {
			return 0
		}
		return 1
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(bound(a), bound(b)), cmp.Compare(unready(a), unready(b)), cmp.Compare(deletionCost(b), deletionCost(a)),
			cmp.Compare(together[a.Spec.NodeName], together[b.Spec.NodeName]), cmp.Compare(a.UID, b.UID))
	})
}

func deletionCost(p *corev1.Pod) int {
	cost, err := strconv.Atoi(p.Annotations[corev1.PodDeletionCost])
	if err != nil {
		return 0
	}
	return cost
}

// Budget is a disruption budget: at least MinAvailable of the pods that the labels
// select keep running.
type Budget struct {
	Name         string
	Selector     map[string]string
	MinAvailable int
}

// Allows is how many more of the pods may be evicted now.
func (b *Budget) Allows(pods map[types.UID]*corev1.Pod) int {
	running := 0
	for _, p := range pods {
		if b.selects(p) && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			running++
		}
	}
	return max(running-b.MinAvailable, 0)
}

// Forbids reports whether the budget keeps a pod. One that does not run is free to go.
func (b *Budget) Forbids(p *corev1.Pod, pods map[types.UID]*corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && b.selects(p) && b.Allows(pods) == 0
}

func (b *Budget) selects(p *corev1.Pod) bool {
	for key, value := range b.Selector {
		if p.Labels[key] != value {
			return false
		}
	}
	return true
}
