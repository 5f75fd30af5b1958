package cluster

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FromDaemonSets converts DaemonSets. Where pods of one are bound, the requests of the newest
// count: admission may have changed them. If the pod may be of an older revision, the template's
// count where they are larger. Those that are being deleted are left out: they put no pods on
// new nodes.
func FromDaemonSets(sets []*appsv1.DaemonSet, pods []Pod) []DaemonSet {
	type name struct{ namespace, name string }
	newest := map[name]*Pod{}
	for i := range pods {
		p := &pods[i]
		if !p.Template.DaemonSet || p.NodeName == "" {
			continue
		}
		owner := name{p.Namespace, p.Owner.Name}
		if best := newest[owner]; best == nil || cmp.Or(p.Created.Compare(best.Created), cmp.Compare(best.Name, p.Name)) > 0 {
			newest[owner] = p
		}
	}
	out := make([]DaemonSet, 0, len(sets))
	for _, ds := range sets {
		if ds.DeletionTimestamp != nil {
			continue
		}
		out = append(out, fromDaemonSet(ds, newest[name{ds.Namespace, ds.Name}]))
	}
	return out
}

func fromDaemonSet(ds *appsv1.DaemonSet, bound *Pod) DaemonSet {
	pod := &corev1.Pod{ObjectMeta: *ds.Spec.Template.ObjectMeta.DeepCopy(), Spec: *ds.Spec.Template.Spec.DeepCopy()}
	pod.Namespace = ds.Namespace
	pod.Spec.NodeName = ""
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, daemonTolerations(&pod.Spec)...)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	template := newTemplate(pod)
	switch {
	case bound == nil:
	case madeFrom(ds, bound):
		template.Requests = bound.Template.Requests
	default:
		template.Requests = template.Requests.Max(bound.Template.Requests)
	}
	return DaemonSet{Namespace: ds.Namespace, Name: ds.Name, UID: string(ds.UID), Template: template}
}

// madeFrom reports whether the pod was made from the template that the DaemonSet has now. Kubernetes calls the number
// deprecated, and keeps it for DaemonSets of all versions.
func madeFrom(ds *appsv1.DaemonSet, p *Pod) bool {
	now := ds.Annotations[appsv1.DeprecatedTemplateGeneration]
	return now != "" && p.Template.Labels["pod-template-generation"] == now
}

// daemonTolerations are those that the DaemonSet controller gives to each pod
// (https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations).
func daemonTolerations(spec *corev1.PodSpec) []corev1.Toleration {
	out := []corev1.Toleration{
		tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
	}
	if spec.HostNetwork {
		out = append(out, tolerate(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}

func tolerate(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}
