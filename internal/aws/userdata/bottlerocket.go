package userdata

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	corev1 "k8s.io/api/core/v1"
)

// bottlerocket merges the node's settings into the user's TOML. Settings that decide how the
// node joins the cluster replace the user's, labels and taints are added to the user's, and
// everything else stays.
func (n *Node) bottlerocket() (string, error) {
	document := map[string]any{}
	if err := toml.Unmarshal([]byte(n.Own), &document); err != nil {
		return "", fmt.Errorf("read userData as TOML: %w", err)
	}
	settings, err := table(document, "settings")
	if err != nil {
		return "", err
	}
	kubernetes, err := table(settings, "kubernetes")
	if err != nil {
		return "", err
	}
	if err := n.setBottlerocket(kubernetes); err != nil {
		return "", err
	}
	if scaling, ok := settings["autoscaling"].(map[string]any); ok {
		scaling["should-wait"] = false // the machine is in no Auto Scaling group, and would wait for its group for ever
	}
	if n.InstanceStoreRAID {
		if err := mountInstanceStore(settings); err != nil {
			return "", err
		}
	}
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(document); err != nil {
		return "", fmt.Errorf("write TOML: %w", err)
	}
	return out.String(), nil
}

func (n *Node) setBottlerocket(kubernetes map[string]any) error {
	k := n.Kubelet
	kubernetes["cluster-name"] = n.Cluster
	kubernetes["api-server"] = n.Endpoint
	kubernetes["cluster-certificate"] = n.encodedCA()
	setIf(kubernetes, "max-pods", n.MaxPods, n.MaxPods > 0)
	dns := n.clusterDNS()
	setIf(kubernetes, "cluster-dns-ip", dns, len(dns) > 0 && (len(k.ClusterDNS) > 0 || kubernetes["cluster-dns-ip"] == nil))
	for key, reserved := range map[string]corev1.ResourceList{"system-reserved": k.SystemReserved, "kube-reserved": k.KubeReserved} {
		known := resources(reserved)
		delete(known, "pid") // which Bottlerocket refuses, with all other settings
		setIf(kubernetes, key, known, len(known) > 0)
	}
	setIf(kubernetes, "eviction-hard", belowAll(k.EvictionHard), len(k.EvictionHard) > 0)
	setIf(kubernetes, "eviction-soft", belowAll(k.EvictionSoft), len(k.EvictionSoft) > 0)
	setIf(kubernetes, "eviction-soft-grace-period", durations(k.EvictionSoftGracePeriod), len(k.EvictionSoftGracePeriod) > 0)
	setIf(kubernetes, "eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod, k.EvictionMaxPodGracePeriod != nil)
	for key, percent := range map[string]*int32{ // Bottlerocket takes them as text
		"image-gc-high-threshold-percent": k.ImageGCHighThresholdPercent,
		"image-gc-low-threshold-percent":  k.ImageGCLowThresholdPercent,
	} {
		if percent != nil {
			kubernetes[key] = strconv.Itoa(int(*percent))
		}
	}
	setIf(kubernetes, "cpu-cfs-quota-enforced", k.CPUCFSQuota, k.CPUCFSQuota != nil)

	labels, err := table(kubernetes, "node-labels")
	if err != nil {
		return err
	}
	for key, value := range n.kubeletLabels() {
		labels[key] = value
	}
	taints, err := table(kubernetes, "node-taints")
	if err != nil {
		return err
	}
	return n.addBottlerocketTaints(taints)
}

// belowAll writes thresholds of 100% as 0%. Both mean none to a kubelet, and Bottlerocket refuses the first.
func belowAll(thresholds map[string]string) map[string]string {
	out := maps.Clone(thresholds)
	for signal, threshold := range out {
		percent, isPercent := strings.CutSuffix(threshold, "%")
		if p, err := strconv.ParseFloat(percent, 64); isPercent && err == nil && p >= 100 {
			out[signal] = "0%"
		}
	}
	return out
}

// mountInstanceStore makes the machine combine its local disks into one volume and keep
// containers, pods' volumes and logs there. The commands run at each boot before the kubelet
// starts.
func mountInstanceStore(settings map[string]any) error {
	commands, err := table(settings, "bootstrap-commands")
	if err != nil {
		return err
	}
	commands["000-packhorse-instance-store"] = map[string]any{
		"mode": "always", "essential": true,
		"commands": [][]string{
			{"apiclient", "ephemeral-storage", "init"},
			{"apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"},
		},
	}
	return nil
}

// addBottlerocketTaints adds the node's taints. Bottlerocket has a list of value:effect for
// each key.
func (n *Node) addBottlerocketTaints(taints map[string]any) error {
	for _, t := range n.Taints {
		have, err := texts(t.Key, taints[t.Key])
		if err != nil {
			return err
		}
		if add := t.Value + ":" + string(t.Effect); !slices.Contains(have, add) {
			have = append(have, add)
		}
		taints[t.Key] = have
	}
	return nil
}

// table returns the table under a key. It creates an empty one if there is none.
func table(parent map[string]any, key string) (map[string]any, error) {
	switch t := parent[key].(type) {
	case nil:
		made := map[string]any{}
		parent[key] = made
		return made, nil
	case map[string]any:
		return t, nil
	}
	return nil, fmt.Errorf("%s in userData is not a table", key)
}

// texts reads the value of a taint's key, which is a string or a list of strings.
func texts(key string, value any) ([]string, error) {
	switch value := value.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{value}, nil
	case []string:
		return value, nil
	case []any:
		out := make([]string, 0, len(value))
		for _, v := range value {
			text, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("taint %s in userData: %v is not a string", key, v)
			}
			out = append(out, text)
		}
		return out, nil
	}
	return nil, fmt.Errorf("taint %s in userData is neither a string nor a list of strings", key)
}
