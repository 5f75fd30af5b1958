package userdata

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// nodeConfigDocument is the configuration file of nodeadm, with which Amazon Linux 2023 joins
// a cluster.
type nodeConfigDocument struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Spec       nodeConfigSpec `json:"spec"`
}

type nodeConfigSpec struct {
	Cluster  nodeConfigCluster   `json:"cluster"`
	Kubelet  nodeConfigKubelet   `json:"kubelet"`
	Instance *nodeConfigInstance `json:"instance,omitempty"`
}

type nodeConfigCluster struct {
	Name                 string `json:"name"`
	APIServerEndpoint    string `json:"apiServerEndpoint"`
	CertificateAuthority string `json:"certificateAuthority"`
	CIDR                 string `json:"cidr,omitempty"`
}

type nodeConfigKubelet struct {
	// Config holds fields of the kubelet's own KubeletConfiguration.
	Config map[string]any `json:"config,omitempty"`
	Flags  []string       `json:"flags,omitempty"`
}

type nodeConfigInstance struct {
	LocalStorage struct {
		Strategy string `json:"strategy"`
	} `json:"localStorage"`
}

// nodeConfig returns the user data of Amazon Linux 2023. The node's NodeConfig comes before the
// user's own parts, as with Karpenter: nodeadm lets a later NodeConfig override an earlier one, and adds up
// their flags, so that the node keeps its labels.
func (n *Node) nodeConfig() (string, error) {
	own, err := ownParts(n.Own)
	if err != nil {
		return "", err
	}
	document := nodeConfigDocument{APIVersion: "node.eks.aws/v1alpha1", Kind: "NodeConfig", Spec: nodeConfigSpec{
		Cluster: nodeConfigCluster{
			Name: n.Cluster, APIServerEndpoint: n.Endpoint, CertificateAuthority: n.encodedCA(), CIDR: n.ServiceCIDR,
		},
		Kubelet: nodeConfigKubelet{Config: n.kubeletConfig()},
	}}
	if labels := sortedPairs(n.kubeletLabels(), "="); labels != "" {
		document.Spec.Kubelet.Flags = []string{"--node-labels=" + labels}
	}
	if n.InstanceStoreRAID {
		document.Spec.Instance = &nodeConfigInstance{}
		document.Spec.Instance.LocalStorage.Strategy = "RAID0"
	}
	text, err := yaml.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("write NodeConfig: %w", err)
	}
	return writeMIME(append([]part{{mediaType: mediaNodeConfig, content: strings.TrimSuffix(string(text), "\n")}}, own...)), nil
}

// kubeletConfig returns the fields of the kubelet's configuration file that the node sets. The
// image has defaults for the others.
func (n *Node) kubeletConfig() map[string]any {
	out := map[string]any{}
	k := n.Kubelet
	if n.MaxPods > 0 {
		out["maxPods"] = n.MaxPods
	}
	if len(n.Taints) > 0 {
		out["registerWithTaints"] = n.Taints
	}
	setIf(out, "clusterDNS", k.ClusterDNS, len(k.ClusterDNS) > 0)
	setIf(out, "systemReserved", resources(k.SystemReserved), len(k.SystemReserved) > 0)
	setIf(out, "kubeReserved", resources(k.KubeReserved), len(k.KubeReserved) > 0)
	setIf(out, "evictionHard", k.EvictionHard, len(k.EvictionHard) > 0)
	setIf(out, "evictionSoft", k.EvictionSoft, len(k.EvictionSoft) > 0)
	setIf(out, "evictionSoftGracePeriod", durations(k.EvictionSoftGracePeriod), len(k.EvictionSoftGracePeriod) > 0)
	setIf(out, "evictionMaxPodGracePeriod", k.EvictionMaxPodGracePeriod, k.EvictionMaxPodGracePeriod != nil)
	setIf(out, "imageGCHighThresholdPercent", k.ImageGCHighThresholdPercent, k.ImageGCHighThresholdPercent != nil)
	setIf(out, "imageGCLowThresholdPercent", k.ImageGCLowThresholdPercent, k.ImageGCLowThresholdPercent != nil)
	setIf(out, "cpuCFSQuota", k.CPUCFSQuota, k.CPUCFSQuota != nil)
	setIf(out, "podsPerCore", k.PodsPerCore, k.PodsPerCore != nil)
	return out
}

func setIf(m map[string]any, key string, value any, set bool) {
	if set {
		m[key] = value
	}
}
