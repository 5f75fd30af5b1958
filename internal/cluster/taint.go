package cluster

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// ofKubernetes are the keys of the taints that Kubernetes gives a node that is not ready for pods yet.
var ofKubernetes = []string{
	corev1.TaintNodeNotReady,
	corev1.TaintNodeUnreachable,
	corev1.TaintNodeNetworkUnavailable,
	"node.cloudprovider.kubernetes.io/uninitialized",
}

// PressureTaints are the keys of the taints that Kubernetes gives a node that runs out of disk, memory or process ids.
var PressureTaints = []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure}

const (
	// ciliumNotReady is the key of the taint that the operator of Cilium adds to new nodes, whether or not it is
	// a startup taint.
	ciliumNotReady = "node.cilium.io/agent-not-ready"
	// readinessRules begins the keys of the taints of the Node Readiness Controller.
	readinessRules = "readiness.k8s.io/"
)

// IsOfKubernetes reports whether a taint is one that Kubernetes gives a node that is not ready for pods yet.
func IsOfKubernetes(t *corev1.Taint) bool { return slices.Contains(ofKubernetes, t.Key) }

// Passes reports whether a taint is one that a node loses when it comes up: it says so itself, or it is a startup
// taint of the node's Provisioner, which may be nil.
func Passes(t *corev1.Taint, p *api.Provisioner) bool {
	startup := p != nil && slices.ContainsFunc(p.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(t) })
	return startup || IsOfKubernetes(t) || t.Key == ciliumNotReady || strings.HasPrefix(t.Key, readinessRules)
}

// IsPressure reports whether a taint is one that Kubernetes gives a node that runs out of disk, memory or process ids.
func IsPressure(t *corev1.Taint) bool { return slices.Contains(PressureTaints, t.Key) }

// Pressure is the key of the first taint for pressure that the node has, or empty.
func (n *Node) Pressure() string {
	for i := range n.Taints {
		if IsPressure(&n.Taints[i]) {
			return n.Taints[i].Key
		}
	}
	return ""
}

// PassingTaints are the keys of the taints that a node loses when it comes up and still has; see Passes.
func (n *Node) PassingTaints(p *api.Provisioner) (keys []string) {
	for _, t := range n.Taints {
		if Passes(&t, p) {
			keys = append(keys, t.Key)
		}
	}
	return keys
}

// Tolerates reports whether the toleration covers the taint, by the rules of
// https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/.
func Tolerates(tol *corev1.Toleration, taint *corev1.Taint) bool {
	if tol.Effect != "" && tol.Effect != taint.Effect {
		return false
	}
	if tol.Key != "" && tol.Key != taint.Key {
		return false
	}
	switch tol.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return tol.Key != "" && tol.Value == taint.Value
	}
	return false
}
