package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// patience is for how long pods tolerate that nothing is heard of their node, unless they say something else: the API
// server gives them tolerations that end after that time.
const patience = 5 * time.Minute

// unreachable is what kube-controller-manager taints a node with of whose kubelet nothing is heard.
var unreachable = []corev1.Taint{
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
}

// FallSilent writes into a Node object that nothing is heard of its kubelet, as kube-controller-manager does.
func FallSilent(n *corev1.Node, now metav1.Time) {
	if cluster.FromNode(n, nil).SilentSince.IsZero() {
		SetReady(n, corev1.ConditionUnknown, "NodeStatusUnknown", now)
		n.Spec.Taints = append(n.Spec.Taints, unreachable...)
	}
}

// Answer writes into a Node object that its kubelet is ready.
func Answer(n *corev1.Node, now metav1.Time) {
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	SetReady(n, corev1.ConditionTrue, "KubeletReady", now)
}

// Patience is for how long a pod stays on a node of whose kubelet nothing is heard; false where it stays for ever, as the
// pods of DaemonSets do.
func Patience(p *corev1.Pod) (time.Duration, bool) {
	if o := metav1.GetControllerOf(p); o != nil && o.Kind == "DaemonSet" {
		return 0, false
	}
	var seconds []int64
	tolerates := false
	for _, tol := range p.Spec.Tolerations {
		if cluster.Tolerates(&tol, &unreachable[1]) {
			tolerates = true
			if tol.TolerationSeconds != nil {
				seconds = append(seconds, *tol.TolerationSeconds)
			}
		}
	}
	if len(seconds) == 0 {
		return patience, !tolerates
	}
	return time.Duration(slices.Min(seconds)) * time.Second, true
}
