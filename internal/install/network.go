package install

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// podIdentityAgent is where EKS Pod Identity hands out credentials
// (https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html).
var podIdentityAgent = []string{"169.254.170.23/32", "fd00:ec2::23/128"}

// networkPolicy lets metrics be scraped, and the agent reach DNS, the API server
// (which listens on 6443 outside of EKS), AWS and Pod Identity.
func (s *Settings) networkPolicy() *networkingv1.NetworkPolicy {
	identity := networkingv1.NetworkPolicyEgressRule{Ports: ports(corev1.ProtocolTCP, 80)}
	for _, address := range podIdentityAgent {
		identity.To = append(identity.To, networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: address}})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"},
		ObjectMeta: s.meta(),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: s.selector()},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: ports(corev1.ProtocolTCP, metricsPortNumber)}},
			Egress: []networkingv1.NetworkPolicyEgressRule{
				{Ports: append(ports(corev1.ProtocolUDP, 53), ports(corev1.ProtocolTCP, 53)...)},
				{Ports: ports(corev1.ProtocolTCP, 443, 6443)},
				identity,
			},
		},
	}
}

func ports(protocol corev1.Protocol, numbers ...int32) (out []networkingv1.NetworkPolicyPort) {
	for _, number := range numbers {
		out = append(out, networkingv1.NetworkPolicyPort{Protocol: ptr.To(protocol), Port: ptr.To(intstr.FromInt32(number))})
	}
	return out
}

// disruptionBudget keeps drains of the agent's own nodes from stopping all replicas. Pods that are not ready,
// such as all of them while a CRD is missing, do not block a drain.
func (s *Settings) disruptionBudget() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: s.meta(),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: s.selector()},
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.AlwaysAllow),
		},
	}
}

// service is for scraping metrics.
func (s *Settings) service() *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: s.meta(),
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, Selector: s.selector(),
			Ports: []corev1.ServicePort{{Name: metricsPort, Port: metricsPortNumber, TargetPort: intstr.FromString(metricsPort), Protocol: corev1.ProtocolTCP}},
		},
	}
}
