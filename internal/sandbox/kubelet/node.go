package kubelet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

// ownLabels are those that the kubelet and the cloud provider's controller set on
// every node, also on one that already exists.
func ownLabels(m Machine, region string, h hardware) map[string]string {
	return map[string]string{
		corev1.LabelHostname:           m.PrivateDNSName,
		corev1.LabelOSStable:           h.os(),
		corev1.LabelArchStable:         h.machine.arch,
		"beta.kubernetes.io/os":        h.os(),
		"beta.kubernetes.io/arch":      h.machine.arch,
		corev1.LabelInstanceTypeStable: m.Type,
		corev1.LabelTopologyZone:       m.Zone,
		corev1.LabelTopologyRegion:     region,
	}
}

func (h hardware) os() string {
	if h.family == userdata.Windows {
		return "windows"
	}
	return "linux"
}

// newNode returns the Node object that a kubelet registers.
func newNode(m Machine, own map[string]string, h hardware, settings userdata.Kubelet) (*corev1.Node, error) {
	if err := checkLabels(settings.Labels); err != nil {
		return nil, err
	}
	allocatable, err := h.allocatable(settings)
	if err != nil {
		return nil, err
	}
	labels := maps.Collect(maps.All(settings.Labels)) // never nil
	maps.Copy(labels, own)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.PrivateDNSName, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: m.providerID(), Taints: settings.Taints},
		Status: corev1.NodeStatus{
			Capacity:    h.capacity(settings),
			Allocatable: allocatable,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: m.PrivateIP},
				{Type: corev1.NodeInternalDNS, Address: m.PrivateDNSName},
				{Type: corev1.NodeHostName, Address: m.PrivateDNSName},
			},
			// Without a Ready condition a Node counts as schedulable at once.
			Conditions: []corev1.NodeCondition{notReady()},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:    h.machine.arch,
				OperatingSystem: h.os(),
			},
		},
	}, nil
}

func notReady() corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse,
		Reason: "KubeletNotReady", Message: "the network plugin is not ready yet",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}
}

// checkLabels refuses labels as the kubelet does when it starts: in the namespaces
// of Kubernetes itself it may set only those that are meant for it, which keeps out
// node-restriction.kubernetes.io
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction).
func checkLabels(labels map[string]string) error {
	var forbidden []string
	for key := range labels {
		if !mayLabel(key) {
			forbidden = append(forbidden, key)
		}
	}
	if len(forbidden) == 0 {
		return nil
	}
	slices.Sort(forbidden)
	return fmt.Errorf("unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: %s", strings.Join(forbidden, ", "))
}

func mayLabel(key string) bool {
	namespace, _, qualified := strings.Cut(key, "/")
	if !qualified || !within(namespace, "kubernetes.io") && !within(namespace, "k8s.io") {
		return true
	}
	if within(namespace, "kubelet.kubernetes.io") || within(namespace, "node.kubernetes.io") {
		return true
	}
	switch key {
	case corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable,
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch", corev1.LabelInstanceType:
		return true
	}
	return false
}

// within says that namespace is domain or lies below it.
func within(namespace, domain string) bool {
	return namespace == domain || strings.HasSuffix(namespace, "."+domain)
}
