package cluster

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// Pod converts a pod. It reports false for a pod that has finished, which takes
// no room and is left out of a Snapshot.
func (t *Templates) Pod(pod *corev1.Pod) (Pod, bool) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return Pod{}, false
	}
	return t.Known(pod, t.intern(newTemplate(pod))), true
}

// Known converts a pod that has not finished and of which the template is known, for
// instance from before its status has changed.
func (t *Templates) Known(pod *corev1.Pod, template *Template) Pod {
	out := Pod{
		PodKey:        PodKey{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)},
		Version:       pod.ResourceVersion,
		NodeName:      pod.Spec.NodeName,
		NominatedNode: pod.Status.NominatedNodeName,
		Owner:         ownerOf(pod),
		Created:       pod.CreationTimestamp.Time,
		State:         t.state(pod, template),
		Running:       pod.Status.Phase == corev1.PodRunning,
		Ready:         ready(pod),
		Since:         boundSince(pod),
		Finalizers:    pod.Finalizers,
		Grace:         amount.Seconds(ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)),
		Template:      template,
	}
	if out.State == PodPending && out.NominatedNode != "" {
		out.State, out.Unplaced = PodWaiting, cmp.Or(scheduledSince(pod, corev1.ConditionFalse), out.Created)
	}
	out.DeletionCost, out.Steered, out.CostSet = deletionCost(pod)
	if pod.DeletionTimestamp != nil {
		out.StopBy = pod.DeletionTimestamp.Time
		out.StopSince = out.StopBy.Add(-amount.Seconds(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)))
	}
	return out
}

func (t *Templates) state(pod *corev1.Pod, template *Template) PodState {
	terminating := pod.DeletionTimestamp != nil
	switch {
	case pod.Spec.NodeName != "" && terminating:
		return PodTerminating
	case pod.Spec.NodeName != "":
		return PodBound
	case terminating,
		len(pod.Spec.SchedulingGates) > 0,
		template.DaemonSet, template.Static,
		!slices.Contains(t.schedulers, template.SchedulerName):
		return PodWaiting
	}
	said := verdict(pod, template.SchedulerName)
	if said == PodNew && pod.Status.NominatedNodeName != "" {
		return PodWaiting // it is being bound
	}
	return said
}

// verdict returns what the scheduler has said of a pod that it is to place. Pods
// that it has not looked at yet are left to it.
func verdict(pod *corev1.Pod, scheduler string) PodState {
	for _, c := range pod.Status.Conditions {
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status == corev1.ConditionFalse && asksForNodes(c.Reason, scheduler) {
			return PodPending
		}
		if c.Reason == corev1.PodReasonSchedulingGated { // set by the API server; the pod's gates have been removed since
			return PodNew
		}
		if c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonSchedulerError {
			return PodFailing
		}
		return PodWaiting
	}
	return PodNew
}

// asksForNodes reports whether a scheduler that gives this reason for not placing a pod would place it if there were
// more nodes. To Volcano, a pod of a gang is Schedulable if there is room for it but not for the others, Undetermined
// behind one for which there is none, and not bound before there is room for all. Other reasons do not ask for nodes:
// to YuniKorn, a pod is SchedulingSkipped if its queue may use no more.
func asksForNodes(reason, scheduler string) bool {
	switch reason {
	case corev1.PodReasonUnschedulable:
		return true
	case "Schedulable", "Undetermined":
		return scheduler != corev1.DefaultSchedulerName
	}
	return false
}

func ownerOf(o metav1.Object) Owner {
	c := metav1.GetControllerOfNoCopy(o)
	if c == nil {
		return Owner{}
	}
	return Owner{APIVersion: c.APIVersion, Kind: c.Kind, Name: c.Name, UID: string(c.UID)}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// boundSince is when the pod came to its node, as far as its conditions tell.
func boundSince(pod *corev1.Pod) time.Time {
	if pod.Spec.NodeName == "" {
		return time.Time{}
	}
	if at := scheduledSince(pod, corev1.ConditionTrue); !at.IsZero() {
		return at
	}
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}

// scheduledSince is since when the scheduler has said this of a pod; zero if it does not say so, or not since when.
func scheduledSince(pod *corev1.Pod, said corev1.ConditionStatus) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == said {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// BelongsToNode reports whether such a pod goes with its node: those of DaemonSets and static pods.
func (t *Template) BelongsToNode() bool { return t.DaemonSet || t.Static }

// NeedsNode reports whether the pod needs its node to stay: those that belong to it, and those
// that are going, do not.
func (p *Pod) NeedsNode() bool { return p.State == PodBound && !p.Template.BelongsToNode() }

// Finishes reports whether the pod does a piece of work for its owner and ends, as those of Jobs do. Pods that go on for
// as long as their owner wants them are always started again.
func (p *Pod) Finishes() bool {
	return p.NeedsNode() && (p.Owner.Kind == "Job" || p.Owner.Kind != "" && p.Template.Ends)
}

// ComesBack reports whether the pod's owner, once the pod has gone, makes another one that takes its place: with its
// name, or its volumes. Controllers that are not part of Kubernetes, such as those of databases, do so if they have given
// it a claim, as a StatefulSet does.
func (p *Pod) ComesBack() bool {
	switch p.Owner.Kind {
	case "StatefulSet":
		return true
	case "", "ReplicaSet", "ReplicationController", "Job", "DaemonSet":
		return false
	}
	return !p.Template.Ends && slices.ContainsFunc(p.Template.Claims, func(c ClaimRef) bool { return !c.Ephemeral })
}

// NotDisrupted reports whether the pod must not be disrupted now.
func (p *Pod) NotDisrupted(now time.Time) bool {
	return p.Template.DoNotDisrupt || p.recent(now)
}

// recent reports whether the time for which the pod must not be disrupted has not passed.
func (p *Pod) recent(now time.Time) bool {
	t := p.Template
	return t.DoNotDisruptFor > 0 && now.Before(p.Since.Add(t.DoNotDisruptFor))
}
