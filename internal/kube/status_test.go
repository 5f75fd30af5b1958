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

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func cachedProvisioner(t *testing.T, c *Cluster, name string) *api.Provisioner {
	t.Helper()
	var out *api.Provisioner
	eventually(t, "the Provisioner is in the cache", func() error {
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
	eventually(t, "the status is in the cache", func() error {
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
	eventually(t, "the profile is in the cache", func() error {
		if len(c.NodeTemplates()) != 1 {
			return errors.New("it is not")
		}
		return nil
	})
	status := api.AWSNodeTemplateStatus{Subnets: []api.SubnetStatus{{ID: "subnet-1", Zone: "eu-west-1a", FreeAddresses: 5}}}
	if err := c.UpdateNodeTemplateStatus(t.Context(), "profile", status); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the status is in the cache", func() error {
		if diff := cmp.Diff(status, c.NodeTemplates()[0].Status); diff != "" {
			return fmt.Errorf("-want +got\n%s", diff)
		}
		return nil
	})
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
	eventually(t, "the event is written once and counted", func() error {
		list, err := admin.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=NoPlace"})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 || list.Items[0].Count != 3 || list.Items[0].Message != "no instance type has 9 GPUs" || list.Items[0].InvolvedObject.UID != pod.UID {
			return fmt.Errorf("got %v", list.Items)
		}
		return nil
	})
	eventually(t, "an event on a cluster-scoped object is in namespace default", func() error {
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
