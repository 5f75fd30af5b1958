package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Untolerated returns the first taint that keeps a pod away. PreferNoSchedule
// taints keep a pod away only where they are to be honoured.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration, honourPreferences bool) (Miss, bool) {
	for i := range taints {
		t := &taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !honourPreferences {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(tol corev1.Toleration) bool { return cluster.Tolerates(&tol, t) }) {
			return Miss{Kind: Taint, Key: t.ToString()}, true
		}
	}
	return Miss{}, false
}

// passes reports whether a taint is one of a node that is coming up or lost contact for a while, which
// Kubernetes removes by itself. A missing network may last.
func passes(t *corev1.Taint) bool {
	return cluster.IsComingUp(t) && t.Key != corev1.TaintNodeNetworkUnavailable
}

// cordon is the taint of a node that is cordoned. kube-scheduler lets pods that tolerate it
// onto the node, whether or not the node's controller has added it yet.
var cordon = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// Lasting returns the taints of a node that will stay: those that pass by
// themselves are left out, and so are the startup taints of a node that has not
// been up yet. A cordon counts as its taint.
func Lasting(n *cluster.Node, startup []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	if n.Unschedulable && !slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&cordon) }) {
		out = append(out, cordon)
	}
	for _, t := range n.Taints {
		if passes(&t) {
			continue
		}
		if !n.Initialized && slices.ContainsFunc(startup, func(s corev1.Taint) bool { return s.Key == t.Key && s.Effect == t.Effect }) {
			continue
		}
		out = append(out, t)
	}
	return out
}
