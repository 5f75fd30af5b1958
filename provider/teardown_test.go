package provider_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// addNode gives a provisioner a node as the agent makes them.
func addNode(t *testing.T, provisioner, name string) {
	t.Helper()
	owner := object(t, api.ProvisionerGVR, provisioner)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:       name,
			Labels:     map[string]string{api.LabelProvisioner: provisioner},
			Finalizers: []string{api.Finalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: provisioner, UID: owner.GetUID(), BlockOwnerDeletion: ptr.To(true),
			}},
		},
		Spec: corev1.NodeSpec{ProviderID: "aws:///eu-west-1a/i-0123456789abcdef0", Unschedulable: true},
	}
	if _, err := kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := release(context.Background(), name); err != nil {
			t.Error(err)
		}
	})
}

// release lets a node go, as the agent does at the end.
func release(ctx context.Context, name string) error {
	nodes := kube.CoreV1().Nodes()
	if err := nodes.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, err := nodes.Patch(ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// holdLease makes it look as if an agent were leading.
func holdLease(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "packhorse-agent", Namespace: "default"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("agent-0"), LeaseDurationSeconds: ptr.To[int32](600), RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	if _, err := kube.CoordinationV1().Leases("default").Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.CoordinationV1().Leases("default").Delete(context.Background(), "packhorse-agent", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func TestDestroyWithoutAgentDeletesNothing(t *testing.T) {
	name := "unattended"
	config := provisionerConfig(name, "")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() { addNode(t, name, "unattended-1") },
				Config:    config, Destroy: true,
				ExpectError: words(`provisioner unattended: it has nodes (1), and no agent is running that could drain them`),
			},
			{
				PreConfig: func() {
					if live := object(t, api.ProvisionerGVR, name); live.GetDeletionTimestamp() != nil {
						t.Errorf("the provisioner was deleted although nobody could drain its nodes")
					}
					if err := release(t.Context(), "unattended-1"); err != nil {
						t.Fatal(err)
					}
				},
				Config: config,
			},
		},
	})
}

// The agent keeps its finalizer on a provisioner that has lost its nodes until no instance runs.
func TestDestroyWithoutAgentDoesNotWaitForIt(t *testing.T) {
	name := "unreleased"
	config := provisionerConfig(name, "timeouts {\n delete = \"5s\"\n}")
	finalizers := func(list string) func() {
		return func() { patch(t, api.ProvisionerGVR, name, `{"metadata":{"finalizers":`+list+`}}`) }
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             gone(name),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: finalizers(`["` + api.Finalizer + `"]`), Config: config, Destroy: true,
				ExpectError: words(`provisioner unreleased: it has the finalizer karpenter.sh/termination, and no agent is running`),
			},
			{
				PreConfig: func() {
					if object(t, api.ProvisionerGVR, name).GetDeletionTimestamp() != nil {
						t.Error("the provisioner was deleted although nobody could remove its finalizer")
					}
					finalizers("null")()
				},
				Config: config,
			},
		},
	})
}

func TestDestroyWaitsForTheNodes(t *testing.T) {
	name := "drained"
	holdLease(t)
	drained := make(chan error, 1)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             gone(name),
		Steps: []resource.TestStep{
			{Config: provisionerConfig(name, "")},
			{
				PreConfig: func() {
					addNode(t, name, "drained-1")
					go func() { drained <- drain(name, "drained-1") }()
				},
				Config: provisionerConfig(name, ""), Destroy: true,
			},
		},
	})
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if _, err := kube.CoreV1().Nodes().Get(t.Context(), "drained-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the destroy has come back before the node was gone: %v", err)
	}
}

// drain does the agent's part once the provisioner is being deleted.
func drain(provisioner, node string) error {
	return wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		live, err := objects.Resource(api.ProvisionerGVR).Get(ctx, provisioner, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if live.GetDeletionTimestamp() == nil {
			return false, nil
		}
		return true, release(ctx, node)
	})
}

// The agent has let a node go whose machine is gone, and another program holds the Node object.
func TestDestroyDoesNotWaitForOtherPrograms(t *testing.T) {
	name := "left"
	holdLease(t)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             gone(name),
		Steps: []resource.TestStep{
			{Config: provisionerConfig(name, "")},
			{
				PreConfig: func() {
					addNode(t, name, "left-1")
					patch := func(metadata string) {
						if _, err := kube.CoreV1().Nodes().Patch(t.Context(), "left-1", "application/merge-patch+json", []byte(`{"metadata":{`+metadata+`}}`), metav1.PatchOptions{}); err != nil {
							t.Fatal(err)
						}
					}
					patch(`"annotations":{"` + api.AnnotationLaunchID + `":"launch-1"},"finalizers":["` + api.Finalizer + `","example.com/other"]`)
					if err := kube.CoreV1().Nodes().Delete(t.Context(), "left-1", metav1.DeleteOptions{}); err != nil {
						t.Fatal(err)
					}
					patch(`"finalizers":["example.com/other"]`)
				},
				Config: provisionerConfig(name, "timeouts {\n delete = \"10s\"\n}"), Destroy: true,
			},
		},
	})
	if _, err := kube.CoreV1().Nodes().Get(t.Context(), "left-1", metav1.GetOptions{}); err != nil {
		t.Errorf("the node of the other program: %v", err)
	}
}

func TestDestroyNamesWhatHoldsItUp(t *testing.T) {
	name := "stuck"
	holdLease(t)
	config := provisionerConfig(name, "timeouts {\n delete = \"3s\"\n}")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: config},
			{
				PreConfig: func() {
					addNode(t, name, "stuck-1")
					occupy(t, "stuck-1")
				},
				Config: config, Destroy: true,
				ExpectError: words(`provisioner stuck: it was not deleted in time its finalizers: foregroundDeletion node stuck-1; instance aws:///eu-west-1a/i-0123456789abcdef0;`),
			},
			{
				// The second attempt tells the rest, which Terraform wraps.
				Config: config, Destroy: true,
				ExpectError: words(`finalizers karpenter.sh/termination; pods default/guarded; held by PodDisruptionBudgets default/guard ` +
					`A PodDisruptionBudget holds a node as long as its pods have no other node to go to. Delete it, or, if the Provisioner has no terminationGracePeriod, limit the drains: ` +
					`kubectl annotate --overwrite nodes -l karpenter.sh/provisioner-name=stuck packhorse.io/termination-grace-period=1m`),
			},
			{
				PreConfig: func() {
					if err := release(t.Context(), "stuck-1"); err != nil {
						t.Fatal(err)
					}
				},
				Config: provisionerConfig(name, ""), Destroy: true,
			},
		},
	})
}

// occupy puts a pod on the node and a budget around it that allows no eviction.
func occupy(t *testing.T, node string) {
	t.Helper()
	labels := map[string]string{"app": "guarded"}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "guarded", Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "a", Image: "a"}}, TerminationGracePeriodSeconds: ptr.To[int64](0),
			AutomountServiceAccountToken: ptr.To(false),
		},
	}
	if _, err := kube.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	guard := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	if _, err := kube.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), guard, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if err := kube.PolicyV1().PodDisruptionBudgets("default").Delete(ctx, "guard", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := kube.CoreV1().Pods("default").Delete(ctx, "guarded", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Error(fmt.Errorf("delete the pod: %w", err))
		}
	})
}
