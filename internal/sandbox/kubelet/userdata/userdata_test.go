package userdata

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite what the archives in testdata want")

// TestParse reads the archives in testdata: a line "family: …" in the comment, the
// user data, and the settings or the error that are wanted of it.
func TestParse(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("archives: %v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data, want := archive.Files[0], &archive.Files[1]
			got := render(Parse(familyOf(t, archive), data.Data))
			if *update {
				want.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want.Data), got); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
		})
	}
}

func familyOf(t *testing.T, archive *txtar.Archive) Family {
	for line := range bytes.Lines(archive.Comment) {
		if family, ok := strings.CutPrefix(string(line), "family:"); ok {
			return Family(strings.TrimSpace(family))
		}
	}
	t.Fatal("the archive's comment has no line that begins with family:")
	return ""
}

// render writes settings in a form that people can compare.
func render(settings Settings, err error) string {
	if err != nil {
		return "error: " + strings.TrimSpace(err.Error()) + "\n"
	}
	type taint struct {
		Key, Value string
		Effect     corev1.TaintEffect
	}
	kubelet := settings.Kubelet
	var taints []taint
	for _, t := range kubelet.Taints {
		taints = append(taints, taint{t.Key, t.Value, t.Effect})
	}
	text, err := yaml.Marshal(map[string]any{
		"family": settings.Family, "cluster": settings.ClusterName, "endpoint": settings.Endpoint, "ca": string(settings.CA),
		"labels": kubelet.Labels, "taints": taints, "maxPods": kubelet.MaxPods, "podsPerCore": kubelet.PodsPerCore,
		"ignorePodTable": kubelet.IgnorePodTable, "kubeReserved": kubelet.KubeReserved,
		"systemReserved": kubelet.SystemReserved, "evictionHard": kubelet.EvictionHard, "clusterDNS": kubelet.ClusterDNS,
	})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func TestFamilyOfImage(t *testing.T) {
	tests := map[string]Family{
		"amazon-eks-node-1.33-v20260801":                                  AL2,
		"amazon-eks-gpu-node-1.32-v20260801":                              AL2,
		"amazon-eks-node-al2023-x86_64-standard-1.36-v20261101":           AL2023,
		"bottlerocket-aws-k8s-1.36-aarch64-v1.50.0-0123abcd":              Bottlerocket,
		"ubuntu-eks/k8s_1.33/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64": Ubuntu,
		"Windows_Server-2022-English-Core-EKS_Optimized-1.33-2026.08.11":  Windows,
		"my-golden-image": "",
	}
	for name, want := range tests {
		if got, ok := FamilyOfImage(name); got != want || ok != (want != "") {
			t.Errorf("FamilyOfImage(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestApplyArguments(t *testing.T) {
	tests := map[string]struct {
		line    string
		want    Kubelet
		wantErr string
	}{
		"labels add up":         {line: "--node-labels a=1 --node-labels=b=2,c=", want: Kubelet{Labels: map[string]string{"a": "1", "b": "2", "c": ""}}},
		"taints are replaced":   {line: "--register-with-taints=a:NoSchedule --register-with-taints=b:NoExecute", want: Kubelet{Taints: []corev1.Taint{{Key: "b", Effect: corev1.TaintEffectNoExecute}}}},
		"several DNS addresses": {line: "--cluster-dns=10.0.0.10,10.0.0.11", want: Kubelet{ClusterDNS: []string{"10.0.0.10", "10.0.0.11"}}},
		"a switch has no value": {line: "--some-switch --pods-per-core=3", want: Kubelet{PodsPerCore: 3}},
		"bad label value":       {line: "--node-labels=a=b/c", wantErr: "value \"b/c\" of label a"},
		"negative max-pods":     {line: "--max-pods=-1", wantErr: "-1 is negative"},
		"max-pods is no number": {line: "--max-pods=many", wantErr: "invalid syntax"},
		"unknown reservation":   {line: "--kube-reserved=gpu=1", wantErr: "cannot reserve resource \"gpu\""},
		"bad percentage":        {line: "--eviction-hard=memory.available<200%", wantErr: "is not a percentage"},
		"not a flag":            {line: "hello", wantErr: "unexpected word \"hello\""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got Kubelet
			err := got.applyArguments(test.line)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error = %v, want %q", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzParse checks that no user data, which comes from users, breaks a parser.
func FuzzParse(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, family := range []Family{AL2, AL2023, Bottlerocket, Windows} {
			settings, err := Parse(family, data)
			if err == nil && settings.ClusterName == "" {
				t.Errorf("%s: accepted without a cluster name: %q", family, data)
			}
		}
	})
}
