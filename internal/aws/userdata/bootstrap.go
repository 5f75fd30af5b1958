package userdata

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bootstrap returns the user data of Amazon Linux 2 and Ubuntu: the user's own parts, and a
// script that calls the image's bootstrap script.
func (n *Node) bootstrap() (string, error) {
	parts, err := ownParts(n.Own)
	if err != nil {
		return "", err
	}
	return writeMIME(append(parts, part{mediaType: mediaShell, content: n.bootstrapScript()})), nil
}

func (n *Node) bootstrapScript() string {
	var b strings.Builder
	b.WriteString("#!/bin/bash -xe\n")
	b.WriteString("exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n")
	fmt.Fprintf(&b, "/etc/eks/bootstrap.sh %s", shellQuote(n.Cluster))
	// There is no option for the container runtime: the script refuses all but its default, containerd.
	option := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, " \\\n  %s %s", name, shellQuote(value))
		}
	}
	option("--apiserver-endpoint", n.Endpoint)
	option("--b64-cluster-ca", n.encodedCA())
	if dns := n.clusterDNS(); len(dns) > 0 {
		option("--dns-cluster-ip", dns[0])
	}
	if n.ipv6() {
		option("--ip-family", "ipv6")
		option("--service-ipv6-cidr", n.ServiceCIDR)
	}
	if n.MaxPods > 0 {
		option("--use-max-pods", "false")
	}
	if n.InstanceStoreRAID {
		option("--local-disks", "raid0")
	}
	option("--kubelet-extra-args", strings.Join(n.kubeletFlags(), " "))
	b.WriteString("\n")
	return b.String()
}

// kubeletFlags returns the flags of the kubelet's command line. None contains a blank.
func (n *Node) kubeletFlags() []string {
	var flags []string
	flag := func(name, value string) {
		if value != "" {
			flags = append(flags, "--"+name+"="+value)
		}
	}
	integer := func(name string, value *int32) {
		if value != nil {
			flag(name, strconv.FormatInt(int64(*value), 10))
		}
	}
	k := n.Kubelet
	flag("node-labels", sortedPairs(n.kubeletLabels(), "="))
	flag("register-with-taints", n.taintFlag())
	if n.MaxPods > 0 {
		flag("max-pods", strconv.FormatInt(n.MaxPods, 10))
	}
	if len(k.ClusterDNS) > 1 { // the image's script takes a single address
		flag("cluster-dns", strings.Join(k.ClusterDNS, ","))
	}
	integer("pods-per-core", k.PodsPerCore)
	flag("system-reserved", sortedPairs(resources(k.SystemReserved), "="))
	flag("kube-reserved", sortedPairs(resources(k.KubeReserved), "="))
	flag("eviction-hard", sortedPairs(k.EvictionHard, "<"))
	flag("eviction-soft", sortedPairs(k.EvictionSoft, "<"))
	flag("eviction-soft-grace-period", sortedPairs(durations(k.EvictionSoftGracePeriod), "="))
	integer("eviction-max-pod-grace-period", k.EvictionMaxPodGracePeriod)
	integer("image-gc-high-threshold", k.ImageGCHighThresholdPercent)
	integer("image-gc-low-threshold", k.ImageGCLowThresholdPercent)
	if k.CPUCFSQuota != nil {
		flag("cpu-cfs-quota", strconv.FormatBool(*k.CPUCFSQuota))
	}
	return flags
}

func durations(in map[string]metav1.Duration) map[string]string {
	out := make(map[string]string, len(in))
	for signal, d := range in {
		out[signal] = d.Duration.String()
	}
	return out
}

// shellQuote quotes text as one word of a shell command.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
