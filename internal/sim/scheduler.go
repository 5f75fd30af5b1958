package sim

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/scheduler"
)

// schedule binds each pod that waits to a node that has room, the oldest first,
// or marks it as unschedulable: to the first node, or, if the options say so, to the one
// that kube-scheduler would prefer.
func (w *world) schedule() {
	waiting := w.waiting()
	if len(waiting) == 0 {
		return
	}
	scheduling := scheduler.New(w.nodes, w.pods, w.requests)
	find := scheduling.FirstFit
	if w.options.Scores {
		find = scheduling.Preferred
	}
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
		switch at := find(p); {
		case at == "":
			w.mark(p, corev1.PodReasonUnschedulable)
		case w.options.BindingFails != nil && w.options.BindingFails():
			w.mark(p, corev1.PodReasonSchedulerError)
		default:
			w.controllers().bind(p, at)
		}
	}
}

// requests is what a pod takes of a node; false for one that has finished.
func (w *world) requests(p *corev1.Pod) (amount.List, bool) {
	pod, unfinished := w.convert(p)
	if !unfinished {
		return nil, false
	}
	return pod.Template.Requests, true
}

// waiting lists the pods that have no node, sorted by UID, which is the order of their creation.
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

func (w *world) mark(p *corev1.Pod, reason string) {
	if scheduler.Mark(p, reason) {
		w.changed()
	}
}
