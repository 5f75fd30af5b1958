package survey_test

import (
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
		map[schema.GroupVersionResource]string{api.ProvisionerGVR: "ProvisionerList", api.NodeTemplateGVR: "AWSNodeTemplateList"},
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
