// Package kubelet says what the kubelet of a simulated machine writes into its Node object.
package kubelet

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Machine is what a kubelet finds where it runs.
type Machine struct {
	Type       *offer.InstanceType // nil: one that is not in the catalogue
	Name, Zone string              // the type's name
	Shortfall  amount.List         // what is missing
	Bare       bool                // its device plugins do not run
}

// Register returns the Node object that a kubelet makes from its user data.
func Register(name string, spec offer.NodeSpec, uid types.UID, now metav1.Time) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: now, Labels: map[string]string{}}}
	maps.Copy(n.Labels, spec.Labels)
	n.Spec.Taints = slices.Clone(spec.Taints)
	return n
}

// Describe reports what the machine is.
func Describe(n *corev1.Node, m Machine) {
	if t := m.Type; t != nil {
		n.Status.Capacity = t.Capacity.ResourceList()
		n.Status.Allocatable = t.Allocatable().Minus(m.Shortfall).ResourceList()
		if m.Bare {
			withoutDevices(n)
		}
		for _, key := range []string{api.LabelArch, api.LabelOS, api.LabelRegion} {
			if value, ok := t.Label(key); ok {
				n.Labels[key] = value
			}
		}
	}
	n.Labels[api.LabelInstanceType] = m.Name
	n.Labels[api.LabelZone] = m.Zone
	n.Labels[api.LabelHostname] = n.Name
}

// withoutDevices reports none of the extended resources, as a kubelet does until their
// device plugins have registered.
func withoutDevices(n *corev1.Node) {
	for _, list := range []corev1.ResourceList{n.Status.Capacity, n.Status.Allocatable} {
		for name := range list {
			if strings.Contains(string(name), "/") {
				list[name] = resource.Quantity{}
			}
		}
	}
}

// SetReady replaces the node's condition Ready.
func SetReady(n *corev1.Node, status corev1.ConditionStatus, reason string, now metav1.Time) {
	n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: reason, LastTransitionTime: now})
}
