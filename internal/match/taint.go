package match

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Untolerated returns the first taint that keeps a pod away, or nil. PreferNoSchedule
// taints keep a pod away only where they are to be honoured.
func Untolerated(taints []corev1.Taint, tolerations []corev1.Toleration, honourPreferences bool) *corev1.Taint {
	for i := range taints {
		t := &taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !honourPreferences {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(tol corev1.Toleration) bool { return cluster.Tolerates(&tol, t) }) {
			return t
		}
	}
	return nil
}

// passes reports whether a taint of a node of the Provisioner, which may be nil, is one that will go. A node that has
// been up may lose contact for a while, but what else is missing may stay so. One that has not is to lose its startup
// taints. While its machine boots, other programs may taint it until their pods run there, so that only what the
// Provisioner asks for and cordons are known to stay.
func passes(n *cluster.Node, of *api.Provisioner, t *corev1.Taint) bool {
	switch {
	case cluster.IsOfKubernetes(t) && t.Key != corev1.TaintNodeNetworkUnavailable: // a missing network may stay so
		return true
	case n.Initialized || of == nil:
		return false
	case cluster.Passes(t, of):
		return true
	}
	asked := slices.ContainsFunc(of.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(t) })
	return !n.Ready && !asked && !t.MatchTaint(&cordon)
}

// cordon is the taint of a node that is cordoned. kube-scheduler lets pods that tolerate it
// onto the node, whether or not the node's controller has added it yet.
var cordon = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// Lasting returns the taints of a node of the Provisioner, which may be nil, that will stay. A cordon counts as its
// taint.
func Lasting(n *cluster.Node, of *api.Provisioner) []corev1.Taint {
	var out []corev1.Taint
	if n.Unschedulable && !slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&cordon) }) {
		out = append(out, cordon)
	}
	for _, t := range n.Taints {
		if !passes(n, of, &t) {
			out = append(out, t)
		}
	}
	return out
}
