package kube

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

func cachedProvisioner(t *testing.T, c *Cluster, name string) *api.Provisioner {
	t.Helper()
	var out *api.Provisioner
	planetest.Eventually(t, "the Provisioner is in the cache", func() error {
		for _, p := range c.Provisioners() {
			if p.Name == name {
				out = p
				return nil
			}
		}
		return errors.New("it is not")
	})
	return out
}

func provisioner(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	u, err := adminCustom.Resource(api.ProvisionerGVR).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestUpdateProvisionerStatus(t *testing.T) {
	c := connect(t)
	const name = "with-status"
	newProvisioner(t, name, map[string]any{"weight": int64(3)})
	cachedProvisioner(t, c, name)
	since := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	status := api.ProvisionerStatus{
		Resources:          corev1.ResourceList{"cpu": resource.MustParse("4000m"), "memory": resource.MustParse("8Gi")},
		Conditions:         []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: since}},
		ObservedGeneration: 1,
		Nodes:              2,
	}
	if err := c.UpdateProvisionerStatus(t.Context(), name, status); err != nil {
		t.Fatal(err)
	}
	first := provisioner(t, name)
	if weight, _, _ := unstructured.NestedInt64(first.Object, "spec", "weight"); weight != 3 {
		t.Errorf("the spec changed: weight is %d", weight)
	}
	planetest.Eventually(t, "the status is in the cache", func() error {
		if n := cachedProvisioner(t, c, name).Status.Nodes; n != 2 {
			return fmt.Errorf("it has %d nodes", n)
		}
		return nil
	})

	status.Conditions[0].LastTransitionTime = metav1.Time{}
	if err := c.UpdateProvisionerStatus(t.Context(), name, status); err != nil {
		t.Fatal(err)
	}
	if again := provisioner(t, name); again.GetResourceVersion() != first.GetResourceVersion() {
		t.Errorf("an equal status was written: -first +again\n%s", cmp.Diff(first.Object, again.Object))
	}

	status.Resources, status.Nodes = nil, 0
	status.Conditions[0].Status, status.Conditions[0].Reason = metav1.ConditionFalse, "LimitReached"
	if err := c.UpdateProvisionerStatus(t.Context(), name, status); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(provisioner(t, name).Object, "status")
	if got["nodes"] != nil || got["resources"] != nil {
		t.Errorf("what the status has no more is still there: %v", got)
	}
	condition := got["conditions"].([]any)[0].(map[string]any)
	if condition["reason"] != "LimitReached" || condition["lastTransitionTime"] == "2026-01-01T00:00:00Z" {
		t.Errorf("got condition %v, want a new transition", condition)
	}
	if err := c.UpdateProvisionerStatus(t.Context(), "absent", status); err != nil {
		t.Errorf("a Provisioner that is gone: %v", err)
	}

	if err := adminCustom.Resource(api.ProvisionerGVR).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "what was written to it is forgotten", func() error {
		if last := c.caches.provisioners.written(name); last.version != "" {
			return fmt.Errorf("version %s is remembered", last.version)
		}
		return nil
	})
}

func TestUpdateNodeTemplateStatus(t *testing.T) {
	c := connect(t)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"subnetSelector": map[string]any{"a": "b"}, "securityGroupSelector": map[string]any{"a": "b"},
	}}}
	u.SetGroupVersionKind(api.NodeTemplateGVK)
	u.SetName("profile")
	resource := adminCustom.Resource(api.NodeTemplateGVR)
	if _, err := resource.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ignoreGone(t, resource.Delete(context.Background(), "profile", metav1.DeleteOptions{})) })
	planetest.Eventually(t, "the profile is in the cache", func() error {
		if len(c.NodeTemplates()) != 1 {
			return errors.New("it is not")
		}
		return nil
	})
	status := api.AWSNodeTemplateStatus{Subnets: []api.SubnetStatus{{ID: "subnet-1", Zone: "eu-west-1a", FreeAddresses: 5}}}
	if err := c.UpdateNodeTemplateStatus(t.Context(), "profile", status); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the status is in the cache", func() error {
		if diff := cmp.Diff(status, c.NodeTemplates()[0].Status); diff != "" {
			return fmt.Errorf("-want +got\n%s", diff)
		}
		return nil
	})
}

// What a release has applied that wrote the status by server-side apply goes like any other field.
func TestStatusThatWasApplied(t *testing.T) {
	c := connect(t)
	const name = "applied"
	u := newProvisioner(t, name, map[string]any{"weight": int64(3)})
	u.Object = map[string]any{"status": map[string]any{"nodes": int64(7), "observedGeneration": int64(1)}}
	u.SetGroupVersionKind(api.ProvisionerGVK)
	u.SetName(name)
	if _, err := adminCustom.Resource(api.ProvisionerGVR).ApplyStatus(t.Context(), name, u, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the status is in the cache", func() error {
		if n := cachedProvisioner(t, c, name).Status.Nodes; n != 7 {
			return fmt.Errorf("it has %d nodes", n)
		}
		return nil
	})
	if err := c.UpdateProvisionerStatus(t.Context(), name, api.ProvisionerStatus{ObservedGeneration: 2}); err != nil {
		t.Fatal(err)
	}
	got, _, _ := unstructured.NestedMap(provisioner(t, name).Object, "status")
	if diff := cmp.Diff(map[string]any{"observedGeneration": int64(2)}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// karpentersStatus is the status of a Provisioner in the CRD of Karpenter 0.31.
const karpentersStatus = `
type: object
properties:
  conditions:
    type: array
    items:
      type: object
      required: [status, type]
      properties:
        {lastTransitionTime: {type: string}, message: {type: string}, reason: {type: string}, severity: {type: string}, status: {type: string}, type: {type: string}}
  lastScaleTime: {type: string, format: date-time}
  resources: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
`

// defineStatus gives the CRD of Provisioners another schema of the status, and returns the one that it had. A
// Provisioner tells when the API server uses it.
func defineStatus(t *testing.T, probe string, schema map[string]any, hasNodes bool) (before map[string]any) {
	t.Helper()
	ctx := context.Background()
	crd, err := adminCustom.Resource(crds).Get(ctx, "provisioners.karpenter.sh", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	properties := versions[0].(map[string]any)["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)
	before, _ = properties["status"].(map[string]any)
	properties["status"] = schema
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if _, err := adminCustom.Resource(crds).Update(ctx, crd, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the API server uses the schema", func() error {
		got, err := adminCustom.Resource(api.ProvisionerGVR).Patch(ctx, probe, types.MergePatchType, []byte(`{"status":{"nodes":9}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, "status")
		if err != nil {
			return err
		}
		if _, has, _ := unstructured.NestedInt64(got.Object, "status", "nodes"); has != hasNodes {
			return fmt.Errorf("status.nodes is there: %t", has)
		}
		return nil
	})
	return before
}

// Karpenter's own CRD of the Provisioner, which stays with install_crds = false, has neither status.nodes nor
// status.observedGeneration. The rest of the status is written, and not again while it stays.
func TestStatusWithTheDefinitionOfKarpenter(t *testing.T) {
	const name = "with-karpenters-definition"
	newProvisioner(t, name, map[string]any{"weight": int64(3)})
	var schema map[string]any
	if err := yaml.Unmarshal([]byte(karpentersStatus), &schema); err != nil {
		t.Fatal(err)
	}
	ours := defineStatus(t, name, schema, false)
	defer defineStatus(t, name, ours, true)
	c := connect(t)
	cachedProvisioner(t, c, name)
	status := api.ProvisionerStatus{
		Conditions:         []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: 1}},
		ObservedGeneration: 1, Nodes: 2,
	}
	if err := c.UpdateProvisionerStatus(t.Context(), name, status); err != nil {
		t.Fatal(err)
	}
	written := provisioner(t, name)
	if got, _, _ := unstructured.NestedSlice(written.Object, "status", "conditions"); len(got) != 1 {
		t.Errorf("the conditions are %v", got)
	}
	planetest.Eventually(t, "the cache has what was written", func() error {
		if len(cachedProvisioner(t, c, name).Status.Conditions) != 1 {
			return errors.New("it has not")
		}
		return nil
	})
	// A request with the cancelled context would fail.
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.UpdateProvisionerStatus(cancelled, name, status); err != nil {
		t.Errorf("the status was written again: %v", err)
	}
}

func TestProvisionerFinalizer(t *testing.T) {
	c := connect(t)
	const name = "held"
	newProvisioner(t, name, map[string]any{})
	for range 2 {
		if err := c.SetProvisionerFinalizer(t.Context(), name, true); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{api.Finalizer}, provisioner(t, name).GetFinalizers()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if err := adminCustom.Resource(api.ProvisionerGVR).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if provisioner(t, name).GetDeletionTimestamp() == nil {
		t.Error("the finalizer does not hold the Provisioner")
	}
	for range 2 {
		if err := c.SetProvisionerFinalizer(t.Context(), name, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.SetProvisionerFinalizer(t.Context(), name, true); !errors.Is(err, cluster.ErrGone) {
		t.Errorf("got %v, want ErrGone", err)
	}
}

func TestNoFinalizerForWhatIsBeingDeleted(t *testing.T) {
	c := connect(t)
	const name = "leaving"
	newProvisioner(t, name, map[string]any{})
	_, err := adminCustom.Resource(api.ProvisionerGVR).Patch(t.Context(), name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":["example.com/other"]}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := adminCustom.Resource(api.ProvisionerGVR).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetProvisionerFinalizer(t.Context(), name, true); !errors.Is(err, cluster.ErrStale) {
		t.Errorf("got %v, want ErrStale", err)
	}
}

func TestEvents(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	pod := newPod(t, ns, "web", nil)
	ref := cluster.ObjectRef{Kind: "Pod", Namespace: ns, Name: "web", UID: string(pod.UID)}
	for range 3 {
		c.Event(ref, corev1.EventTypeWarning, "NoPlace", "no instance type has 9 GPUs")
	}
	c.Event(cluster.ObjectRef{Kind: api.ProvisionerKind, Name: "default", UID: "u"}, corev1.EventTypeNormal, "Bought", ns)
	planetest.Eventually(t, "the event is written once and counted", func() error {
		list, err := admin.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=NoPlace"})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Count != 3 || list.Items[0].Message != "no instance type has 9 GPUs" || list.Items[0].InvolvedObject.UID != pod.UID {
			return fmt.Errorf("got %v", list.Items)
		}
		return nil
	})
	planetest.Eventually(t, "an event on a cluster-scoped object is in namespace default", func() error {
		list, err := admin.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{FieldSelector: "reason=Bought"})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Message == ns && e.InvolvedObject.APIVersion == "karpenter.sh/v1alpha5" {
				return nil
			}
		}
		return fmt.Errorf("got %v", list.Items)
	})
}
