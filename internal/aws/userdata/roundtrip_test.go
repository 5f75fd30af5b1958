package userdata

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	reader "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

// drawNode makes up a node that the API lets pass, with a script of the user's own.
func drawNode(t *rapid.T, family string) Node {
	value := rapid.StringMatching(`([a-zA-Z0-9]([a-zA-Z0-9._-]{0,8}[a-zA-Z0-9])?)?`)
	key := rapid.StringMatching(`([a-z]{1,5}\.(com|io)/)?[a-zA-Z0-9]([a-zA-Z0-9._-]{0,8}[a-zA-Z0-9])?`)
	quantity := rapid.SampledFrom([]string{"100m", "1", "2500m", "200Mi", "1Gi", "10G"})
	threshold := rapid.SampledFrom([]string{"5%", "100Mi", "1Gi", "12.5%"})
	n := Node{
		Cluster:  rapid.StringMatching(`[a-zA-Z0-9][a-zA-Z0-9_-]{0,20}`).Draw(t, "cluster"),
		Endpoint: "https://" + rapid.StringMatching(`[a-z0-9]{1,12}`).Draw(t, "host") + ".eks.amazonaws.com",
		CA:       []byte(rapid.String().Draw(t, "CA") + "x"), ServiceCIDR: rapid.SampledFrom([]string{"10.100.0.0/16", "fd00::/108"}).Draw(t, "services"),
		Labels:  rapid.MapOfN(key, value, 0, 6).Draw(t, "labels"),
		MaxPods: rapid.Int64Range(1, 737).Draw(t, "max pods"),
		Kubelet: &api.KubeletConfiguration{},
	}
	for _, k := range slices.Sorted(maps.Keys(rapid.MapOfN(key, value, 0, 4).Draw(t, "taint keys"))) {
		n.Taints = append(n.Taints, corev1.Taint{
			Key: k, Value: value.Draw(t, "taint"),
			Effect: rapid.SampledFrom([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}).Draw(t, "effect"),
		})
	}
	reserved := func(label string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]corev1.ResourceName{"cpu", "memory", "ephemeral-storage"}), rapid.ID).Draw(t, label) {
			out[name] = resource.MustParse(quantity.Draw(t, label))
		}
		return out
	}
	n.Kubelet.SystemReserved, n.Kubelet.KubeReserved = reserved("system reserved"), reserved("kube reserved")
	n.Kubelet.EvictionHard = rapid.MapOf(rapid.SampledFrom([]string{"memory.available", "nodefs.available"}), threshold).Draw(t, "eviction")
	if family != api.FamilyBottlerocket {
		n.Own = rapid.SampledFrom([]string{"", "#!/bin/bash\necho \"it's mine\"\n", "echo '\\'\n"}).Draw(t, "own")
	}
	return n
}

// Whatever a node is told, an independent reader of each family understands it.
func TestEveryFamilyIsUnderstood(t *testing.T) {
	for family, readerFamily := range map[string]reader.Family{
		api.FamilyAL2: reader.AL2, api.FamilyUbuntu: reader.Ubuntu, api.FamilyAL2023: reader.AL2023,
		api.FamilyBottlerocket: reader.Bottlerocket, api.FamilyWindows2022: reader.Windows,
	} {
		t.Run(family, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := drawNode(t, family)
				text, err := Build(family, n)
				if err != nil {
					t.Fatal(err)
				}
				got, err := reader.Parse(readerFamily, []byte(text))
				if err != nil {
					t.Fatalf("%v in\n%s", err, text)
				}
				if diff := cmp.Diff(told(n), understood(got), cmpopts.EquateEmpty()); diff != "" {
					t.Fatalf("-told +understood\n%s\n%s", diff, text)
				}
			})
		})
	}
}

// facts are what both sides can be compared by.
type facts struct {
	Cluster, Endpoint, CA        string
	Labels, Eviction             map[string]string
	Taints                       []string
	SystemReserved, KubeReserved map[string]string
	MaxPods                      int64
}

func told(n Node) facts {
	return facts{
		Cluster: n.Cluster, Endpoint: n.Endpoint, CA: string(n.CA), Labels: n.kubeletLabels(), Eviction: n.Kubelet.EvictionHard,
		Taints: taintTexts(n.Taints), SystemReserved: resources(n.Kubelet.SystemReserved), KubeReserved: resources(n.Kubelet.KubeReserved), MaxPods: n.MaxPods,
	}
}

func understood(s reader.Settings) facts {
	k := s.Kubelet
	out := facts{
		Cluster: s.ClusterName, Endpoint: s.Endpoint, CA: string(s.CA), Labels: k.Labels, Eviction: k.EvictionHard,
		Taints: taintTexts(k.Taints), SystemReserved: resources(k.SystemReserved), KubeReserved: resources(k.KubeReserved), MaxPods: -1,
	}
	if k.MaxPods != nil {
		out.MaxPods = int64(*k.MaxPods)
	}
	return out
}

func taintTexts(taints []corev1.Taint) []string {
	var out []string
	for _, t := range taints {
		out = append(out, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	slices.SortFunc(out, strings.Compare)
	return out
}
