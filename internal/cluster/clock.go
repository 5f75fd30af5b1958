package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Readiness returns the condition Ready of a node, with the time since when it is not ready by the clock of the API server.
// The kubelet writes that time by its own clock: if that is far behind, a node would be replaced as soon as it is not
// ready for once. Kubernetes itself writes the condition of a node that is silent. The caches of the agent hold this
// condition alone, because FromNode reads no other.
func Readiness(node *corev1.Node) []corev1.NodeCondition {
	out := slices.DeleteFunc(slices.Clone(node.Status.Conditions), func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeReady })
	at := slices.IndexFunc(node.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == "kubelet" && m.Subresource == "status" && m.Time != nil
	})
	for i := range out {
		c := &out[i]
		if at < 0 || c.Status != corev1.ConditionFalse || c.LastHeartbeatTime.IsZero() {
			continue
		}
		// The kubelet wrote the time of its heartbeat by its own clock, and the API server noted when that came.
		if behind := node.ManagedFields[at].Time.Sub(c.LastHeartbeatTime.Time); behind.Abs() > ClockSkew {
			c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Add(behind))
		}
	}
	return out
}
