package sim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// boot brings a machine's kubelet up: it takes its Node object over, or creates it
// from what its user data says.
func (w *World) boot(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machines[id]
	if m == nil || m.State == offer.StateGone {
		return
	}
	m.State, m.up = offer.StateRunning, true
	if w.nodes[m.NodeName] == nil {
		w.nodes[m.NodeName] = w.registered(m)
	}
	w.report(m)
	w.changed()
}

// report is the kubelet's first: what the machine is, and that it is ready.
func (w *World) report(m *machine) {
	n := w.nodes[m.NodeName]
	w.describe(n, m)
	n.Spec.ProviderID = m.ProviderID
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	setReady(n, corev1.ConditionTrue, "KubeletReady")
	for _, p := range w.pods {
		if p.Spec.NodeName == n.Name {
			w.run(p)
		}
	}
}

func (w *World) registered(m *machine) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: m.NodeName, UID: w.uid(), CreationTimestamp: metav1.Now(), Labels: map[string]string{},
	}}
	maps.Copy(n.Labels, m.spec.Labels)
	n.Spec.Taints = slices.Clone(m.spec.Taints)
	return n
}

// describe reports what the machine is.
func (w *World) describe(n *corev1.Node, m *machine) {
	for _, t := range w.options.Types {
		if t.Name != m.InstanceType {
			continue
		}
		n.Status.Capacity = t.Capacity.ResourceList()
		n.Status.Allocatable = t.Allocatable().ResourceList()
		for _, key := range []string{api.LabelArch, api.LabelOS, api.LabelRegion} {
			if value, ok := t.Label(key); ok {
				n.Labels[key] = value
			}
		}
	}
	n.Labels[api.LabelInstanceType] = m.InstanceType
	n.Labels[api.LabelZone] = m.Zone
	n.Labels[api.LabelHostname] = m.NodeName
}

func setReady(n *corev1.Node, status corev1.ConditionStatus, reason string) {
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: status, Reason: reason, LastTransitionTime: metav1.Now(),
	})
}

// hasKubelet reports whether somebody runs the pods of the node: nodes that no
// machine belongs to were put there by a test, and run them too.
func (w *World) hasKubelet(node string) bool {
	n := w.nodes[node]
	if n == nil {
		return false
	}
	for _, m := range w.machines {
		if m.NodeName == node && m.ProviderID == n.Spec.ProviderID {
			return m.up
		}
	}
	return true
}
