package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	schedule "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// schedule binds each pod that waits to a node that has room, in the order of their names,
// or marks it as unschedulable: to the first node, or, if the options say so, to the one
// that kube-scheduler would prefer. It knows resources, taints, node selectors, required
// node affinity and spread constraints.
func (w *world) schedule() {
	waiting := w.waiting()
	if len(waiting) == 0 {
		return
	}
	room := w.rooms()
	names := slices.Sorted(maps.Keys(w.nodes))
	looked := 0
	for _, p := range waiting {
		if age := w.now().Sub(p.CreationTimestamp.Time); age < w.options.SchedulerTime && len(p.Status.Conditions) == 0 {
			time.AfterFunc(w.options.SchedulerTime-age, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.wake()
			})
			continue
		}
		if len(p.Status.Conditions) == 0 {
			if looked++; w.options.SchedulerPods > 0 && looked > w.options.SchedulerPods {
				return // marking the others has woken it again
			}
		}
		pod, _ := w.convert(p)
		needs := pod.Template.Requests
		var among []candidate
		for _, name := range names {
			if needs.Fits(room[name]) && admits(w.nodes[name], p) {
				among = append(among, candidate{node: w.nodes[name], free: room[name]})
			}
		}
		among = w.spreads(p, among)
		if len(among) == 0 {
			w.markUnschedulable(p)
			continue
		}
		at := among[0].node.Name
		if w.options.Scores {
			at = among[w.prefer(p, needs, among)].node.Name
		}
		room[at] = room[at].Minus(needs)
		w.controllers().bind(p, at)
	}
}

// waiting lists the pods that have no node, by name.
func (w *world) waiting() []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range w.pods {
		if p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
			if _, unfinished := w.convert(p); unfinished {
				out = append(out, p)
			}
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Pod) int { return cmp.Compare(a.UID, b.UID) })
	return out
}

// rooms is what the pods leave of each node.
func (w *world) rooms() map[string]amount.List {
	room := map[string]amount.List{}
	for name, n := range w.nodes {
		room[name] = amount.FromResourceList(n.Status.Allocatable)
	}
	for _, p := range w.pods {
		if pod, unfinished := w.convert(p); unfinished && pod.NodeName != "" {
			room[pod.NodeName] = room[pod.NodeName].Minus(pod.Template.Requests)
		}
	}
	return room
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

// mayCount reports whether a node's domain counts for the pod's spread constraints.
func mayCount(n *corev1.Node, p *corev1.Pod) bool {
	ok, err := nodeaffinity.GetRequiredNodeAffinity(p).Match(n)
	return err == nil && ok
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
	}
}
