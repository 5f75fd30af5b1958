package survey_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/survey"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

var (
	nodePools   = kinds.NodePools.WithVersion("v1")
	nodeClasses = kinds.NodeClasses.WithVersion("v1")
)

// lists are the kinds that the fake cluster knows.
var lists = map[schema.GroupVersionResource]string{
	api.ProvisionerGVR: "ProvisionerList", api.NodeTemplateGVR: "AWSNodeTemplateList", nodePools: "NodePoolList", nodeClasses: "EC2NodeClassList",
	kinds.NodePools.WithVersion("v1beta1"): "NodePoolList", kinds.NodeClasses.WithVersion("v1beta1"): "EC2NodeClassList",
}

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
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7},
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}},
		&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "usual"}},
	)
	forbid := func(resource string) {
		client.PrependReactor("list", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", errors.New("may not list them"))
		})
	}
	forbid("runtimeclasses")
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists,
		custom("karpenter.sh/v1alpha5", "Provisioner", "z", map[string]any{"weight": int64(3)}),
		custom("karpenter.sh/v1alpha5", "Provisioner", "p", map[string]any{}),
		custom("karpenter.sh/v1alpha5", "Provisioner", "broken", map[string]any{"weight": "heavy"}),
	)
	got, err := survey.Take(t.Context(), client, objects)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.PriorityClasses) != 1 || got.PriorityClasses[0].Value != 7 || len(got.HiddenClasses) != 1 || len(got.Hidden) != 0 {
		t.Errorf("classes: %v, hidden %q and %q", got.PriorityClasses, got.HiddenClasses, got.Hidden)
	}
	if len(got.LimitRanges) != 1 || got.LimitRanges[0].Name != "usual" {
		t.Errorf("LimitRanges: %v", got.LimitRanges)
	}
	forbid("limitranges")
	if without, err := survey.Take(t.Context(), client, objects); err != nil || len(without.HiddenClasses) != 2 || !strings.Contains(without.HiddenClasses[1], "limitranges") {
		t.Errorf("a reader that may not list LimitRanges: %v, %v", without, err)
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
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists,
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

// Who may not list NodePools is told so where the cluster has them. Where it does not, the
// API server forbids them all the same, and there is nothing to tell.
func TestTakeWithoutRights(t *testing.T) {
	for name, test := range map[string]struct {
		served []*metav1.APIResourceList
		hidden int
	}{
		"a cluster with NodePools": {[]*metav1.APIResourceList{{GroupVersion: "karpenter.sh/v1", APIResources: []metav1.APIResource{{Name: "nodepools"}}}}, 1},
		"a cluster without them":   {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists)
			for _, resource := range []string{"nodepools", "ec2nodeclasses"} {
				objects.PrependReactor("list", resource, func(a clienttesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(a.GetResource().GroupResource(), "", errors.New("may not list it"))
				})
			}
			client := fake.NewClientset()
			client.Resources = test.served
			got, err := survey.Take(t.Context(), client, objects)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Hidden) != test.hidden || test.hidden > 0 && !strings.HasPrefix(got.Hidden[0], "nodepools.karpenter.sh could not be read: ") {
				t.Errorf("hidden: %v", got.Hidden)
			}
		})
	}
}

// The kind Machine says that there is, or was, Karpenter 0.28 to 0.32. Provisioners have the same version.
func TestMachines(t *testing.T) {
	for _, names := range [][]string{{"provisioners", "machines"}, {"provisioners"}, nil} {
		client := fake.NewClientset()
		if len(names) > 0 {
			served := &metav1.APIResourceList{GroupVersion: "karpenter.sh/v1alpha5"}
			for _, name := range names {
				served.APIResources = append(served.APIResources, metav1.APIResource{Name: name})
			}
			client.Resources = []*metav1.APIResourceList{served}
		}
		if got, err := survey.Machines(client); err != nil || got != slices.Contains(names, "machines") {
			t.Errorf("with %v: %t, %v", names, got, err)
		}
	}
}

// A cluster with an older Karpenter serves NodePools of v1beta1 alone.
func TestTakeNodePoolsOfV1beta1(t *testing.T) {
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists,
		custom("karpenter.sh/v1beta1", "NodePool", "old", map[string]any{"template": map[string]any{"spec": map[string]any{
			"requirements": []any{}, "nodeClassRef": map[string]any{"name": "c"},
		}}}),
	)
	got, err := survey.Take(t.Context(), fake.NewClientset(), objects)
	if err != nil || len(got.Provisioners) != 1 || got.Provisioners[0].Title() != "NodePool old" {
		t.Errorf("%v, %v", got.Provisioners, err)
	}
}
