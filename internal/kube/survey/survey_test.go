package survey_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

var (
	nodePools   = karpenter.NodePools.WithVersion("v1")
	nodeClasses = karpenter.NodeClasses.WithVersion("v1")
)

func custom(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func TestTake(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: corev1.PodStatus{Phase: phase}}
	}
	client := fake.NewClientset(
		pod("b", corev1.PodRunning), pod("a", corev1.PodPending), pod("over", corev1.PodSucceeded),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{api.LabelProvisioner: "p"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}},
	)
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{api.ProvisionerGVR: "ProvisionerList", api.NodeTemplateGVR: "AWSNodeTemplateList", nodePools: "NodePoolList", nodeClasses: "EC2NodeClassList"},
		custom("karpenter.sh/v1alpha5", "Provisioner", "z", map[string]any{"weight": int64(3)}),
		custom("karpenter.sh/v1alpha5", "Provisioner", "p", map[string]any{}),
		custom("karpenter.sh/v1alpha5", "Provisioner", "broken", map[string]any{"weight": "heavy"}),
	)
	got, err := survey.Take(t.Context(), client, objects)
	if err != nil {
		t.Fatal(err)
	}
	type brief struct{ Pods, Nodes, Namespaces, Provisioners, Rejected []string }
	var seen brief
	for _, p := range got.Snapshot.Pods {
		seen.Pods = append(seen.Pods, p.String())
	}
	for _, n := range got.Snapshot.Nodes {
		seen.Nodes = append(seen.Nodes, n.Name+" of "+n.Provisioner)
	}
	for _, ns := range got.Snapshot.Namespaces {
		seen.Namespaces = append(seen.Namespaces, ns.Name)
	}
	for _, p := range got.Provisioners {
		seen.Provisioners = append(seen.Provisioners, p.Name)
	}
	for _, r := range got.Rejected {
		seen.Rejected = append(seen.Rejected, r.Object.Name)
	}
	want := brief{[]string{"shop/a", "shop/b"}, []string{"n of p"}, []string{"shop"}, []string{"p", "z"}, []string{"broken"}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("survey (-want +got):\n%s", diff)
	}
}

// NodePools count as Provisioners: one of another controller does not, one that has the
// name of a Provisioner does not, and one that cannot be served says why.
func TestTakeNodePools(t *testing.T) {
	pool := func(name, class string, spec map[string]any) *unstructured.Unstructured {
		group, _, _ := strings.Cut(class, "/")
		spec["template"] = map[string]any{"spec": map[string]any{
			"requirements": []any{}, "nodeClassRef": map[string]any{"group": group, "kind": strings.TrimPrefix(class, group+"/"), "name": "c"},
		}}
		return custom("karpenter.sh/v1", "NodePool", name, spec)
	}
	const own = "karpenter.k8s.aws/EC2NodeClass"
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{api.ProvisionerGVR: "ProvisionerList", api.NodeTemplateGVR: "AWSNodeTemplateList", nodePools: "NodePoolList", nodeClasses: "EC2NodeClassList"},
		custom("karpenter.sh/v1alpha5", "Provisioner", "taken", map[string]any{}),
		pool("taken", own, map[string]any{"weight": int64(3)}),
		pool("auto", "eks.amazonaws.com/NodeClass", map[string]any{}),
		pool("static", own, map[string]any{"replicas": int64(3)}),
		pool("plain", own, map[string]any{"weight": int64(7)}),
		custom("karpenter.k8s.aws/v1", "EC2NodeClass", "c", map[string]any{
			"instanceProfile": "nodes", "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}},
			"subnetSelectorTerms": []any{map[string]any{"id": "subnet-1"}}, "securityGroupSelectorTerms": []any{map[string]any{"id": "sg-1"}},
		}),
	)
	got, err := survey.Take(t.Context(), fake.NewClientset(), objects)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, p := range got.Provisioners {
		line := p.Title()
		if p.Spec.ProviderRef != nil {
			line += " of " + p.Spec.ProviderRef.Name
		}
		if p.Source != nil {
			for _, u := range p.Source.Unsupported {
				line += " not " + u.Path
			}
		}
		seen = append(seen, line)
	}
	for _, p := range got.NodeTemplates {
		seen = append(seen, p.Name)
	}
	want := []string{"NodePool plain of ec2nodeclass/c", "NodePool static of ec2nodeclass/c not spec.replicas", "Provisioner taken", "ec2nodeclass/c"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
