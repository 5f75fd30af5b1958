package userdata

import (
	"encoding/base64"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	reader "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fullNode says everything that a node can say.
func fullNode() Node {
	return Node{
		Cluster:     "prod",
		Endpoint:    "https://example.eks.amazonaws.com",
		CA:          []byte("-----BEGIN CERTIFICATE-----\n"),
		ServiceCIDR: "10.100.0.0/16",
		Labels: map[string]string{
			"team":                               "a",
			"karpenter.sh/provisioner-name":      "default",
			"node-restriction.kubernetes.io/own": "x", // the API server does not let kubelets set these
			"kops.k8s.io/instancegroup":          "x", // the kubelet would not start
			"node.kubernetes.io/role":            "worker",
			"topology.kubernetes.io/zone":        "eu-west-1a",
		},
		Taints: []corev1.Taint{
			{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule},
			{Key: "example.com/starting", Effect: corev1.TaintEffectNoExecute},
		},
		MaxPods: 29,
		Kubelet: &api.KubeletConfiguration{
			ClusterDNS:                  []string{"10.100.0.10"},
			ContainerRuntime:            new("dockerd"), // of old manifests
			SystemReserved:              corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("200Mi")},
			KubeReserved:                corev1.ResourceList{"cpu": resource.MustParse("90m"), "ephemeral-storage": resource.MustParse("2Gi")},
			EvictionHard:                map[string]string{"memory.available": "5%", "nodefs.available": "10%"},
			EvictionSoft:                map[string]string{"memory.available": "500Mi"},
			EvictionSoftGracePeriod:     map[string]metav1.Duration{"memory.available": {Duration: time.Minute}},
			EvictionMaxPodGracePeriod:   new(int32(60)),
			ImageGCHighThresholdPercent: new(int32(85)),
			ImageGCLowThresholdPercent:  new(int32(80)),
			CPUCFSQuota:                 new(false),
			PodsPerCore:                 new(int32(20)),
		},
	}
}

// ipv6Node is of an IPv6 cluster, with its pods on the local disks.
func ipv6Node() Node {
	return Node{
		Cluster: "prod", Endpoint: "https://example.eks.amazonaws.com", CA: []byte("CA"), ServiceCIDR: "fd30:1c53:5f8a::/108",
		MaxPods: 110, InstanceStoreRAID: true,
	}
}

var ownByFamily = map[string]string{
	api.FamilyAL2:          "#!/bin/bash\necho mine\n",
	api.FamilyUbuntu:       "#!/bin/bash\necho mine\n",
	api.FamilyAL2023:       "#!/bin/bash\necho mine\n",
	api.FamilyBottlerocket: "[settings.kubernetes]\nmax-pods = 5\ncluster-name = 'mine'\nlog-level = 4\n[settings.kubernetes.node-labels]\nmine = 'yes'\n[settings.kubernetes.node-taints]\ndedicated = ['batch:NoSchedule', 'mine:NoExecute']\n[settings.host-containers.admin]\nenabled = true\n",
	api.FamilyWindows2022:  "<powershell>\nWrite-Host mine\n</powershell>",
	api.FamilyCustom:       "anything at all, untouched\n",
}

func TestGolden(t *testing.T) {
	for family, own := range ownByFamily {
		for name, node := range map[string]Node{
			"full":  fullNode(),
			"plain": {Cluster: "prod", Endpoint: "https://example.eks.amazonaws.com", CA: []byte("CA")},
			"ipv6":  ipv6Node(),
		} {
			t.Run(family+" "+name, func(t *testing.T) {
				if name == "full" {
					node.Own = own
				}
				got, err := Build(family, node)
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join("testdata", strings.ToLower(family)+"-"+name+".golden")
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("-want +got\n%s", diff)
				}
			})
		}
	}
}

// A reader that shares no code with this package understands the same as was meant.
func TestAnIndependentReaderUnderstands(t *testing.T) {
	families := map[string]reader.Family{
		api.FamilyAL2: reader.AL2, api.FamilyUbuntu: reader.Ubuntu, api.FamilyAL2023: reader.AL2023,
		api.FamilyBottlerocket: reader.Bottlerocket, api.FamilyWindows2022: reader.Windows,
	}
	wantLabels := map[string]string{
		"team": "a", "karpenter.sh/provisioner-name": "default", "node.kubernetes.io/role": "worker", "topology.kubernetes.io/zone": "eu-west-1a",
	}
	for family, readerFamily := range families {
		t.Run(family, func(t *testing.T) {
			node := fullNode()
			text, err := Build(family, node)
			if err != nil {
				t.Fatal(err)
			}
			got, err := reader.Parse(readerFamily, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if got.ClusterName != node.Cluster || got.Endpoint != node.Endpoint || string(got.CA) != string(node.CA) {
				t.Errorf("cluster = %q %q %q", got.ClusterName, got.Endpoint, got.CA)
			}
			if diff := cmp.Diff(wantLabels, got.Kubelet.Labels); diff != "" {
				t.Errorf("labels: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(node.Taints, got.Kubelet.Taints); diff != "" {
				t.Errorf("taints: -want +got\n%s", diff)
			}
			if got.Kubelet.MaxPods == nil || *got.Kubelet.MaxPods != 29 {
				t.Errorf("max pods = %v, want 29", got.Kubelet.MaxPods)
			}
			if diff := cmp.Diff(node.Kubelet.SystemReserved, got.Kubelet.SystemReserved); diff != "" {
				t.Errorf("system reserved: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(node.Kubelet.EvictionHard, got.Kubelet.EvictionHard); diff != "" {
				t.Errorf("hard eviction: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(node.Kubelet.KubeReserved, got.Kubelet.KubeReserved); diff != "" {
				t.Errorf("kube reserved: -want +got\n%s", diff)
			}
			if diff := cmp.Diff(node.Kubelet.ClusterDNS, got.Kubelet.ClusterDNS); diff != "" {
				t.Errorf("cluster DNS: -want +got\n%s", diff)
			}
			if got.IPv6 {
				t.Error("the node takes the cluster for one of IPv6")
			}
		})
	}
}

// What an image finds out by itself (nodeadm the DNS, Bottlerocket and Windows the
// family of addresses) is empty.
func TestAnIndependentReaderUnderstandsIPv6AndLocalDisks(t *testing.T) {
	const services, dns = "fd30:1c53:5f8a::/108", "fd30:1c53:5f8a::a"
	type told struct {
		ipv6                      bool
		services, dns, localDisks string
	}
	for family, want := range map[string]told{
		api.FamilyAL2:          {ipv6: true, services: services, dns: dns, localDisks: "raid0"},
		api.FamilyAL2023:       {ipv6: true, services: services, localDisks: "raid0"},
		api.FamilyBottlerocket: {dns: dns, localDisks: "raid0"},
		api.FamilyWindows2022:  {services: services, dns: dns},
	} {
		t.Run(family, func(t *testing.T) {
			text, err := Build(family, ipv6Node())
			if err != nil {
				t.Fatal(err)
			}
			s, err := reader.Parse("", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			got := told{s.IPv6, s.ServiceCIDR, strings.Join(s.Kubelet.ClusterDNS, ","), s.LocalDisks}
			if got != want {
				t.Errorf("told %+v, want %+v", got, want)
			}
		})
	}
}

func TestOwnArchiveIsMerged(t *testing.T) {
	const body = "--//\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash\necho one\n--//\nContent-Type: text/cloud-config\nContent-Transfer-Encoding: base64\n\nI2Nsb3VkLWNvbmZpZwo=\n--//--\n"
	for name, own := range map[string]string{
		"version first": "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n" + body,
		"type first":    "Content-Type: multipart/mixed; boundary=\"//\"\nMIME-Version: 1.0\n\n" + body,
		"CRLF":          strings.ReplaceAll("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n"+body, "\n", "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Build(api.FamilyAL2, Node{Cluster: "prod", Own: own})
			if err != nil {
				t.Fatal(err)
			}
			parts, err := ownParts(text)
			if err != nil {
				t.Fatal(err)
			}
			if len(parts) != 3 {
				t.Fatalf("parts = %d, want the user's two and ours", len(parts))
			}
			if !strings.Contains(parts[0].content, "echo one") || parts[1].content != "#cloud-config\n" && parts[1].content != "#cloud-config" {
				t.Errorf("the user's parts = %q, %q", parts[0].content, parts[1].content)
			}
			if !strings.Contains(parts[2].content, "/etc/eks/bootstrap.sh") {
				t.Errorf("the last part does not join the cluster: %q", parts[2].content)
			}
		})
	}
}

func TestFieldsOfOwnNodeConfigWin(t *testing.T) {
	own := "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 5\n      logging: {verbosity: 3}\n    flags: [--node-labels=team=a]\n"
	text, err := Build(api.FamilyAL2023, Node{
		Cluster: "prod", Endpoint: "https://x", CA: []byte("CA"), ServiceCIDR: "10.0.0.0/16", MaxPods: 29, Labels: map[string]string{"pool": "b"},
		Taints: []corev1.Taint{{Key: "dedicated", Effect: "NoSchedule"}}, Own: own,
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := reader.Parse(reader.AL2023, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if *got.Kubelet.MaxPods != 5 {
		t.Errorf("max pods = %d, the user's NodeConfig says 5", *got.Kubelet.MaxPods)
	}
	if got.ClusterName != "prod" || !maps.Equal(got.Kubelet.Labels, map[string]string{"team": "a", "pool": "b"}) || len(got.Kubelet.Taints) != 1 {
		t.Errorf("cluster %q, labels %v and taints %v, want what the user's NodeConfig does not set", got.ClusterName, got.Kubelet.Labels, got.Kubelet.Taints)
	}
	if !strings.Contains(text, "verbosity: 3") {
		t.Error("the user's own setting is gone")
	}
}

// TestScriptThatWritesNodeConfig: nodeadm would refuse the script, and nobody would run it.
func TestScriptThatWritesNodeConfig(t *testing.T) {
	own := "#!/bin/bash\ncat > /etc/eks/nodeadm.d/mine.yaml <<EOF\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nEOF"
	text, err := Build(api.FamilyAL2023, Node{Cluster: "prod", Endpoint: "https://x", CA: []byte("CA"), ServiceCIDR: "10.0.0.0/16", Own: own})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := ownParts(text)
	if err != nil || len(parts) != 2 {
		t.Fatalf("parts = %v, %v", parts, err)
	}
	if parts[1] != (part{mediaType: mediaShell, content: own}) {
		t.Errorf("the script is sent as %q", parts[1])
	}
}

// TestPartsThatAreNotASCII: cloud-init reads a part of no encoding as ASCII, and writes the escapes of Python in the
// place of what is none. nodeadm decodes nothing.
func TestPartsThatAreNotASCII(t *testing.T) {
	const shell, config = "#!/bin/bash\necho \"Grüße → ok, and enough more for a second line of base64 \"\n", "# für\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"
	encoded := base64.StdEncoding.EncodeToString([]byte(shell))
	for name, own := range map[string]string{
		"a document": shell,
		"encoded in an archive": "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n" +
			encoded + "\n--x\nContent-Type: application/node.eks.aws\n\n" + config + "--x--\n",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Build(api.FamilyAL2023, Node{Cluster: "prod", Endpoint: "https://x", CA: []byte("CA"), ServiceCIDR: "10.0.0.0/16", Own: own})
			if err != nil {
				t.Fatal(err)
			}
			want := "Content-Type: text/x-shellscript\nContent-Transfer-Encoding: base64\n\n" + encoded[:76] + "\n" + encoded[76:] + "\n--"
			if !strings.Contains(text, want) {
				t.Errorf("the script is not encoded:\n%s", text)
			}
			if strings.Contains(own, config) && !strings.Contains(text, "Content-Type: application/node.eks.aws\n\n"+config[:len(config)-1]) {
				t.Errorf("the NodeConfig is not sent as it is:\n%s", text)
			}
			if parts, err := ownParts(text); err != nil || parts[1].content != shell {
				t.Errorf("parts = %q, %v", parts, err)
			}
		})
	}
}

// TestHeadersOfOwnPartsAreKept: they say how cloud-init merges a cloud-config with those of other parts.
func TestHeadersOfOwnPartsAreKept(t *testing.T) {
	const merge = "list(append)+dict(recurse_array)+str()"
	own := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/cloud-config\nX-Merge-Type: " + merge + "\n\n#cloud-config\nruncmd: [a]\n--x--\n"
	text, err := Build(api.FamilyAL2, Node{Cluster: "prod", Own: own})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Content-Type: text/cloud-config\nX-Merge-Type: " + merge + "\n\n#cloud-config\n"; !strings.Contains(text, want) {
		t.Errorf("the header is lost:\n%s", text)
	}
}

// TestOwnScriptsRunFirst: cloud-init runs scripts in the order of their names. A part without one is called part-001 and so
// on, so that userdata.txt, as in the documentation of AWS, would run after the script that joins the cluster.
func TestOwnScriptsRunFirst(t *testing.T) {
	own := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"userdata.txt\"\n\n#!/bin/bash\n--x--\n"
	text, err := Build(api.FamilyAL2, Node{Cluster: "prod", Own: own})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, "userdata.txt") || strings.Index(text, "#!/bin/bash\n") > strings.Index(text, "/etc/eks/bootstrap.sh") {
		t.Errorf("the script does not run before the one that joins the cluster:\n%s", text)
	}
}

func TestBoundaryIsNotPartOfTheContent(t *testing.T) {
	text, err := Build(api.FamilyAL2, Node{Cluster: "prod", Own: "#!/bin/sh\n--packhorse\n--packhorse-part\n"})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := ownParts(text)
	if err != nil || len(parts) != 2 {
		t.Errorf("parts = %v, %v", parts, err)
	}
}

func TestQuoting(t *testing.T) {
	for family, readerFamily := range map[string]reader.Family{api.FamilyAL2: reader.AL2, api.FamilyWindows2019: reader.Windows} {
		text, err := Build(family, Node{Cluster: "it's", Endpoint: "https://x", CA: []byte("CA")})
		if err != nil {
			t.Fatal(err)
		}
		got, err := reader.Parse(readerFamily, []byte(text))
		if err != nil || got.ClusterName != "it's" {
			t.Errorf("%s: cluster = %q, %v", family, got.ClusterName, err)
		}
	}
}

// TestOptionsOfEC2Launch: within the script they would be no PowerShell, and the machine would not join.
func TestOptionsOfEC2Launch(t *testing.T) {
	const script, options = "Write-Host '<persist>'", "<persist>true</persist>\n<powershellArguments>-NoProfile</powershellArguments>\n"
	for name, own := range map[string]string{
		"after the script": "<powershell>\r\n" + script + "\r\n</powershell>\r\n" + strings.ReplaceAll(options, "\n", "\r\n"),
		"before it":        options + "<powershell>" + script + "</powershell>",
		"without its tag":  script + "\n" + options,
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Build(api.FamilyWindows2022, Node{Cluster: "prod", Own: own})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(text, "<powershell>\n"+script+"\n[string]") || !strings.HasSuffix(text, "\n</powershell>\n"+options) {
				t.Errorf("the options are not after the script:\n%s", text)
			}
		})
	}
}

// TestWhatBottlerocketRefuses: one setting that it does not know keeps a machine from joining.
func TestWhatBottlerocketRefuses(t *testing.T) {
	text, err := Build(api.FamilyBottlerocket, Node{Cluster: "prod", Kubelet: &api.KubeletConfiguration{
		SystemReserved: corev1.ResourceList{"pid": resource.MustParse("1000")},
		KubeReserved:   corev1.ResourceList{"pid": resource.MustParse("1000"), "cpu": resource.MustParse("90m")},
		EvictionHard:   map[string]string{"imagefs.available": "100%", "nodefs.available": "10%"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, refused := range []string{"pid", "system-reserved", "100%"} {
		if strings.Contains(text, refused) {
			t.Errorf("it has %s:\n%s", refused, text)
		}
	}
	for _, kept := range []string{"cpu = '90m'", "'imagefs.available' = '0%'", "'nodefs.available' = '10%'"} {
		if !strings.Contains(text, kept) {
			t.Errorf("it lacks %s:\n%s", kept, text)
		}
	}
}

// TestOwnDNSOfBottlerocket: a local cache, for example, is named in user data. The Provisioner's setting goes before it.
func TestOwnDNSOfBottlerocket(t *testing.T) {
	const own = "[settings.kubernetes]\ncluster-dns-ip = [\"169.254.20.10\"]\n"
	for name, c := range map[string]struct {
		own  string
		dns  []string
		want string
	}{
		"in user data": {own, nil, "169.254.20.10"},
		"nowhere":      {"", nil, "10.100.0.10"},
		"in both":      {own, []string{"10.0.0.7"}, "10.0.0.7"},
	} {
		text, err := Build(api.FamilyBottlerocket, Node{Cluster: "prod", Endpoint: "https://x", CA: []byte("CA"), ServiceCIDR: "10.100.0.0/16", Own: c.own, Kubelet: &api.KubeletConfiguration{ClusterDNS: c.dns}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reader.Parse("", []byte(text)); err != nil || strings.Join(got.Kubelet.ClusterDNS, ",") != c.want {
			t.Errorf("%s: %v, %v, want %s", name, got.Kubelet.ClusterDNS, err, c.want)
		}
	}
}

// Without an Auto Scaling group, a machine that waits for its group to start it does not join the cluster.
func TestBottlerocketWaitsForNoAutoScalingGroup(t *testing.T) {
	const own = "[settings.autoscaling]\nshould-wait = true\n"
	text, err := Build(api.FamilyBottlerocket, Node{Cluster: "prod", Endpoint: "https://x", CA: []byte("CA"), ServiceCIDR: "10.100.0.0/16", Own: own})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reader.Parse(reader.Bottlerocket, []byte(text)); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
}

func TestSeveralAddressesOfDNS(t *testing.T) {
	dns := []string{"169.254.20.10", "10.100.0.10"}
	for family, readerFamily := range map[string]reader.Family{
		api.FamilyAL2: reader.AL2, api.FamilyUbuntu: reader.AL2, api.FamilyAL2023: reader.AL2023, api.FamilyBottlerocket: "", api.FamilyWindows2022: reader.Windows,
	} {
		text, err := Build(family, Node{Cluster: "prod", Endpoint: "https://x", CA: []byte("CA"), ServiceCIDR: "10.100.0.0/16", Kubelet: &api.KubeletConfiguration{ClusterDNS: dns}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := reader.Parse(readerFamily, []byte(text))
		if diff := cmp.Diff(dns, got.Kubelet.ClusterDNS); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got\n%s", family, err, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]struct{ family, own, want string }{
		"TOML that cannot be read": {api.FamilyBottlerocket, "settings = [", "read userData as TOML"},
		"settings is no table":     {api.FamilyBottlerocket, "settings = 1", "settings in userData is not a table"},
		"labels are no table":      {api.FamilyBottlerocket, "[settings.kubernetes]\nnode-labels = 'x'", "node-labels in userData is not a table"},
		"taint is no text":         {api.FamilyBottlerocket, "[settings.kubernetes.node-taints]\ndedicated = [1]", "taint dedicated in userData: 1 is not a string"},
		"archive without an end":   {api.FamilyAL2023, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nhi", "read part 1 of userData"},
		"too long once merged":     {api.FamilyAL2, "#!/bin/sh\n" + strings.Repeat("#", maxSize-10), "shorten userData by "},
		"unknown family":           {"Solaris", "", `AMI family "Solaris" is not known`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Build(tt.family, Node{Cluster: "prod", Own: tt.own, Taints: []corev1.Taint{{Key: "dedicated", Effect: "NoSchedule"}}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestClusterDNS(t *testing.T) {
	for cidr, want := range map[string]string{
		"10.100.0.0/16": "10.100.0.10", "172.20.0.0/16": "172.20.0.10", "10.1.2.128/25": "10.1.2.138", "fd00::/108": "fd00::a", "": "", "x": "",
	} {
		node := Node{ServiceCIDR: cidr, Kubelet: &api.KubeletConfiguration{}}
		if got := strings.Join(node.clusterDNS(), ","); got != want {
			t.Errorf("DNS of %s = %s, want %s", cidr, got, want)
		}
	}
}
