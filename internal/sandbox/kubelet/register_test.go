package kubelet

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

func testNode(t *testing.T) (node *corev1.Node, own map[string]string) {
	t.Helper()
	m := Machine{
		ID: "i-0123", Type: "m5.large", Zone: "eu-west-1b",
		PrivateIP: "10.0.0.7", PrivateDNSName: "ip-10-0-0-7.eu-west-1.compute.internal",
	}
	h := newHardware(m, testMachine(t, m.Type), userdata.Settings{Family: userdata.AL2023}, 0)
	own = ownLabels(m, "eu-west-1", h)
	node, err := newNode(m, own, h, userdata.Kubelet{
		Labels: map[string]string{"team": "a", corev1.LabelHostname: "made-up"},
		Taints: []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return node, own
}

func TestNewNode(t *testing.T) {
	node, _ := testNode(t)
	want := map[string]string{
		"team":                             "a",
		"kubernetes.io/hostname":           "ip-10-0-0-7.eu-west-1.compute.internal",
		"kubernetes.io/os":                 "linux",
		"kubernetes.io/arch":               "amd64",
		"beta.kubernetes.io/os":            "linux",
		"beta.kubernetes.io/arch":          "amd64",
		"node.kubernetes.io/instance-type": "m5.large",
		"topology.kubernetes.io/zone":      "eu-west-1b",
		"topology.kubernetes.io/region":    "eu-west-1",
	}
	if diff := cmp.Diff(want, node.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if got, want := node.Spec.ProviderID, "aws:///eu-west-1b/i-0123"; got != want {
		t.Errorf("provider ID = %s, want %s", got, want)
	}
	if got := node.Status.Conditions[0]; got.Type != corev1.NodeReady || got.Status != corev1.ConditionFalse {
		t.Errorf("first condition is %s=%s, want Ready=False", got.Type, got.Status)
	}
}

func TestRegisterCreates(t *testing.T) {
	node, own := testNode(t)
	client := fake.NewClientset()
	if err := register(t.Context(), client, node, own); err != nil {
		t.Fatal(err)
	}
	got, err := client.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(node.Labels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(node.Spec, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(amounts(node.Status.Allocatable), amounts(got.Status.Allocatable)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
}

// A Node object that exists keeps its taints and labels and does not get those of
// the user data; what was predicted of its size gives way to what is there.
func TestRegisterTakesOver(t *testing.T) {
	node, own := testNode(t)
	predicted := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("9"), "vpc.amazonaws.com/pod-eni": resource.MustParse("5"),
	}
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: map[string]string{"karpenter.sh/provisioner-name": "default"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "startup", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Capacity: predicted, Allocatable: predicted},
	})
	if err := register(t.Context(), client, node, own); err != nil {
		t.Fatal(err)
	}
	got, err := client.CoreV1().Nodes().Get(t.Context(), node.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantLabels := maps.Clone(own)
	wantLabels["karpenter.sh/provisioner-name"] = "default"
	if diff := cmp.Diff(wantLabels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if len(got.Spec.Taints) != 1 || got.Spec.Taints[0].Key != "startup" {
		t.Errorf("taints = %v, want only the one that was there", got.Spec.Taints)
	}
	if got.Spec.ProviderID != node.Spec.ProviderID {
		t.Errorf("provider ID = %q, want %q", got.Spec.ProviderID, node.Spec.ProviderID)
	}
	wantAllocatable := amounts(node.Status.Allocatable)
	wantAllocatable["vpc.amazonaws.com/pod-eni"] = "0"
	if diff := cmp.Diff(wantAllocatable, amounts(got.Status.Allocatable)); diff != "" {
		t.Errorf("allocatable (-want +got):\n%s", diff)
	}
}

func TestRegisterRefusesAnotherInstancesNode(t *testing.T) {
	node, own := testNode(t)
	client := fake.NewClientset(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///eu-west-1b/i-other"},
	})
	err := register(t.Context(), client, node, own)
	if err == nil || !strings.Contains(err.Error(), "it has provider ID aws:///eu-west-1b/i-other") {
		t.Errorf("error = %v, want one that names the other instance", err)
	}
}

func TestCheckLabels(t *testing.T) {
	tests := map[string]bool{
		"team":                                true,
		"karpenter.sh/provisioner-name":       true,
		"karpenter.k8s.aws/instance-cpu":      true,
		"node.kubernetes.io/instance-type":    true,
		"example.node.kubernetes.io/pool":     true,
		"topology.kubernetes.io/zone":         true,
		"kubelet.kubernetes.io/x":             true,
		"node-restriction.kubernetes.io/team": false,
		"kubernetes.io/role":                  false,
		"node-role.kubernetes.io/worker":      false,
		"k8s.io/x":                            false,
		"cluster-autoscaler.k8s.io/x":         false,
		"notkubernetes.io/x":                  true,
	}
	for key, want := range tests {
		if err := checkLabels(map[string]string{key: "x"}); (err == nil) != want {
			t.Errorf("checkLabels(%s) = %v, want allowed: %v", key, err, want)
		}
	}
}
