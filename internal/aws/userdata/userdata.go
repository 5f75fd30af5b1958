// Package userdata writes the user data with which a machine boots and joins the cluster. It
// is pure: the same node always gives the same text.
package userdata

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Node is what a machine needs to join the cluster.
type Node struct {
	Cluster     string
	Endpoint    string // URL of the API server
	CA          []byte // PEM
	ServiceCIDR string // the address range of Services; it decides between IPv4 and IPv6
	Labels      map[string]string
	Taints      []corev1.Taint // including startup taints
	MaxPods     int64          // 0: the image decides
	Kubelet     *api.KubeletConfiguration
	// InstanceStoreRAID puts containers and pods' ephemeral storage on the local disks.
	InstanceStoreRAID bool
	// Own is the user's own user data. It runs before the node joins the cluster. For the
	// family Custom, it is the whole user data.
	Own string
}

// maxSize is EC2's limit for user data before it is base64-encoded, in bytes.
const maxSize = 16 << 10

// Build returns the user data for an AMI family as plain text. It returns an error if the
// user's own part cannot be merged, or if the result would be larger than EC2 accepts.
func Build(family string, n Node) (string, error) {
	if n.Kubelet == nil {
		n.Kubelet = &api.KubeletConfiguration{}
	}
	var out string
	var err error
	switch family {
	case api.FamilyAL2, api.FamilyUbuntu:
		out, err = n.bootstrap()
	case api.FamilyAL2023:
		out, err = n.nodeConfig()
	case api.FamilyBottlerocket:
		out, err = n.bottlerocket()
	case api.FamilyWindows2019, api.FamilyWindows2022:
		out = n.windows()
	case api.FamilyCustom:
		out = n.Own
	default:
		err = fmt.Errorf("AMI family %q is not known", family)
	}
	if over := len(out) - maxSize; err == nil && over > 0 {
		err = fmt.Errorf("it has %d bytes and EC2 accepts %d: shorten userData by %d bytes", len(out), maxSize, over)
	}
	if err != nil {
		return "", fmt.Errorf("write user data for %s: %w", family, err)
	}
	return out, nil
}

// kubeletLabels returns the labels that a kubelet may set on its own node. The kubelet refuses
// to start with other labels in the domains of Kubernetes, and the API server does not let it
// set those of node-restriction.kubernetes.io.
func (n *Node) kubeletLabels() map[string]string {
	out := maps.Clone(n.Labels)
	maps.DeleteFunc(out, func(key, _ string) bool { return !kubeletMaySet(key) })
	return out
}

// kubeletKeys are the labels in the domains of Kubernetes that the kubelet may set, besides
// those of kubelet.kubernetes.io and node.kubernetes.io.
var kubeletKeys = []string{
	api.LabelHostname, api.LabelArch, api.LabelOS, api.LabelInstanceType, api.LabelZone, api.LabelRegion,
	"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/instance-type",
	"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
}

func kubeletMaySet(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found || (!api.InDomain(domain, "kubernetes.io") && !api.InDomain(domain, "k8s.io")) {
		return true
	}
	return api.InDomain(domain, "kubelet.kubernetes.io") || api.InDomain(domain, "node.kubernetes.io") || slices.Contains(kubeletKeys, key)
}

// dnsHost is the position of the cluster's DNS in the address range of Services on EKS.
const dnsHost = 10

// clusterDNS returns the addresses of the cluster's DNS: those of the kubelet's configuration,
// or EKS's default. It returns none, so that the image decides, if the address range of
// Services is not known.
func (n *Node) clusterDNS() []string {
	if len(n.Kubelet.ClusterDNS) > 0 {
		return n.Kubelet.ClusterDNS
	}
	services, err := netip.ParsePrefix(n.ServiceCIDR)
	if err != nil {
		return nil
	}
	address := services.Masked().Addr()
	for range dnsHost {
		address = address.Next()
	}
	return []string{address.String()}
}

// ipv6 reports whether pods and Services have IPv6 addresses.
func (n *Node) ipv6() bool {
	services, err := netip.ParsePrefix(n.ServiceCIDR)
	return err == nil && services.Addr().Is6()
}

func (n *Node) encodedCA() string { return base64.StdEncoding.EncodeToString(n.CA) }

// sortedPairs joins the entries of a map as key<sep>value with commas, sorted by key.
func sortedPairs(m map[string]string, sep string) string {
	pairs := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, key+sep+m[key])
	}
	return strings.Join(pairs, ",")
}

// taintFlag returns the value of --register-with-taints.
func (n *Node) taintFlag() string {
	taints := make([]string, len(n.Taints))
	for i, t := range n.Taints {
		taints[i] = t.Key + "=" + t.Value + ":" + string(t.Effect)
	}
	return strings.Join(taints, ",")
}

func resources(list corev1.ResourceList) map[string]string {
	out := make(map[string]string, len(list))
	for name, q := range list {
		out[string(name)] = q.String()
	}
	return out
}
