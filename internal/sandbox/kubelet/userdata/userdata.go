// Package userdata reads an instance's user data as the software of its image does:
// the bootstrap script of Amazon Linux 2 and Ubuntu, nodeadm of Amazon Linux 2023,
// Bottlerocket's settings, and the PowerShell script of Windows.
//
// It shares no code with what writes user data in the product, on purpose: a
// misunderstanding there must not be repeated here.
package userdata

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Family is the kind of software that reads the user data on an image.
type Family string

// The families of images. Ubuntu's EKS images carry the same script as Amazon
// Linux 2.
const (
	AL2          Family = "AL2"
	AL2023       Family = "AL2023"
	Bottlerocket Family = "Bottlerocket"
	Ubuntu       Family = "Ubuntu"
	Windows      Family = "Windows"
)

// Settings is what user data tells a node.
type Settings struct {
	Family      Family // whose software has read it
	ClusterName string
	// Endpoint is the URL of the API server. Endpoint and CA are both empty when the
	// node is left to look them up by the cluster's name (AL2, Ubuntu, Windows).
	Endpoint string
	CA       []byte // PEM
	// ServiceCIDR is the range of Services, if the user data has it.
	ServiceCIDR string
	IPv6        bool // the node's pods have IPv6 addresses
	// LocalDisks is how the local disks are joined for pods: "raid0", "raid10" or
	// "mount"; empty if they are not used.
	LocalDisks string
	Kubelet    Kubelet
}

// Kubelet holds the kubelet's settings. What is nil or zero is left to the
// defaults of the image or of the kubelet.
type Kubelet struct {
	Labels map[string]string
	Taints []corev1.Taint // applied only by a kubelet that creates its Node object

	MaxPods     *int32
	PodsPerCore int32
	// IgnorePodTable says that the image's table of pods per instance type is not
	// used, so that the kubelet's own default applies when MaxPods is nil.
	IgnorePodTable bool

	KubeReserved   corev1.ResourceList
	SystemReserved corev1.ResourceList
	// EvictionHard maps signals ("memory.available") to quantities or percentages.
	EvictionHard map[string]string
	ClusterDNS   []string
}

// FamilyOfImage tells the family from an image's name, by the naming schemes of
// the publishers; ok is false for a name that follows none of them.
func FamilyOfImage(name string) (family Family, ok bool) {
	schemes := []struct {
		contains string
		family   Family
	}{
		{"al2023", AL2023},
		{"bottlerocket", Bottlerocket},
		{"ubuntu", Ubuntu},
		{"windows", Windows},
		{"amazon-eks-node", AL2},
		{"amazon-eks-gpu-node", AL2},
		{"amazon-eks-arm64-node", AL2},
	}
	for _, scheme := range schemes {
		if strings.Contains(strings.ToLower(name), scheme.contains) {
			return scheme.family, true
		}
	}
	return "", false
}

// Parse reads user data as an image of the given family does. For an image of an
// unknown family (empty) it goes by the data's own form. An error means that the
// node would not come up.
func Parse(family Family, data []byte) (Settings, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return Settings{}, errors.New("no user data")
	}
	if family == "" {
		family = guessFamily(data)
	}
	var settings Settings
	var err error
	switch family {
	case AL2, Ubuntu:
		settings, err = parseBootstrapScript(data)
	case AL2023:
		settings, err = parseNodeConfig(data)
	case Bottlerocket:
		settings, err = parseBottlerocket(data)
	case Windows:
		settings, err = parsePowerShell(data)
	default:
		err = fmt.Errorf("images of family %q are not known", family)
	}
	if err != nil {
		return Settings{}, fmt.Errorf("%s user data: %w", family, err)
	}
	settings.Family = family
	return settings, nil
}

// guessFamily tells the family by the form of the user data.
func guessFamily(data []byte) Family {
	switch text := string(data); {
	case strings.Contains(text, "node.eks.aws"):
		return AL2023
	case strings.Contains(text, "[settings"):
		return Bottlerocket
	case strings.Contains(text, "<powershell>"):
		return Windows
	default:
		return AL2
	}
}

// decodeCA decodes a certificate authority as user data carries it: PEM in base64.
func decodeCA(encoded string) ([]byte, error) {
	ca, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("certificate authority is not base64: %w", err)
	}
	return ca, nil
}
