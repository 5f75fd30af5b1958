package sim

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// schedule binds each pod that waits to the first node that has room, in the order
// of their names, or marks it as unschedulable. It knows resources, taints, node
// selectors and required node affinity.
func (w *world) schedule() {
	room := map[string]amount.List{}
	for name, n := range w.nodes {
		room[name] = amount.FromResourceList(n.Status.Allocatable)
	}
	var waiting []*corev1.Pod
	for _, p := range w.pods {
		switch pod, unfinished := w.interned.Pod(p); {
		case !unfinished:
		case pod.NodeName != "":
			room[pod.NodeName] = room[pod.NodeName].Minus(pod.Template.Requests)
		case p.DeletionTimestamp == nil:
			waiting = append(waiting, p)
		}
	}
	slices.SortFunc(waiting, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	names := slices.Sorted(maps.Keys(w.nodes))
	looked := 0
	for _, p := range waiting {
		if len(p.Status.Conditions) == 0 {
			if looked++; w.options.SchedulerPods > 0 && looked > w.options.SchedulerPods {
				return // marking the others has woken it again
			}
		}
		pod, _ := w.interned.Pod(p)
		requests := pod.Template.Requests
		i := slices.IndexFunc(names, func(name string) bool {
			return requests.Fits(room[name]) && admits(w.nodes[name], p)
		})
		if i < 0 {
			w.markUnschedulable(p)
			continue
		}
		room[names[i]] = room[names[i]].Minus(requests)
		w.controllers().bind(p, names[i])
	}
}

func (w *world) markUnschedulable(p *corev1.Pod) {
	if len(p.Status.Conditions) > 0 {
		return
	}
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	w.changed()
}

func admits(n *corev1.Node, p *corev1.Pod) bool {
	if n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		return false
	}
	_, untolerated := schedule.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	}, false)
	if untolerated {
		return false
	}
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return err == nil && ok
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}
