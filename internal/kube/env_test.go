package kube

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// The tests share one real control plane, as an administrator.
var (
	adminConfig *rest.Config
	admin       kubernetes.Interface
	adminCustom dynamic.Interface
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func TestMain(m *testing.M) {
	os.Exit(planetest.Main(m, func(p *plane.Plane) error {
		adminConfig = p.RESTConfig()
		admin = kubernetes.NewForConfigOrDie(adminConfig)
		adminCustom = dynamic.NewForConfigOrDie(adminConfig)
		return installCRDs(context.Background())
	}))
}

func installCRDs(ctx context.Context) error {
	for _, crd := range api.CRDs() {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(crd.YAML, &u.Object); err != nil {
			return err
		}
		if _, err := adminCustom.Resource(crds).Create(ctx, u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	for _, gvr := range []schema.GroupVersionResource{api.ProvisionerGVR, api.NodeTemplateGVR} {
		err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, planetest.Patience, true, func(ctx context.Context) (bool, error) {
			_, err := adminCustom.Resource(gvr).List(ctx, metav1.ListOptions{})
			return err == nil, nil
		})
		if err != nil {
			return fmt.Errorf("wait for %s: %w", gvr.Resource, err)
		}
	}
	return nil
}

// connect returns a Cluster with filled caches.
func connect(t *testing.T) *Cluster {
	t.Helper()
	c := unsynced(t)
	planetest.Eventually(t, "the caches are filled", func() error {
		if !c.Synced() {
			return fmt.Errorf("waiting for %q", c.Waiting())
		}
		return nil
	})
	return c
}

func unsynced(t *testing.T) *Cluster {
	t.Helper()
	c, err := New(adminConfig, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// namespace makes a namespace of the test's own.
func namespace(t *testing.T) string {
	t.Helper()
	ns, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ignoreGone(t, admin.CoreV1().Namespaces().Delete(context.Background(), ns.Name, metav1.DeleteOptions{}))
	})
	// Pods are refused before the namespace has its ServiceAccount.
	planetest.Eventually(t, "the service account", func() error {
		_, err := admin.CoreV1().ServiceAccounts(ns.Name).Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	return ns.Name
}

// newPod creates a pod that fits on no node, unless change says otherwise.
func newPod(t *testing.T, ns, name string, change func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"app": name}}}
	pod.Spec.NodeSelector = map[string]string{"no": "such-node"}
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}}}
	if change != nil {
		change(pod)
	}
	out, err := admin.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func keyOf(pod *corev1.Pod) cluster.PodKey {
	return cluster.PodKey{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// removeNode clears a node away after a test, also if a finalizer holds it.
func removeNode(t *testing.T, name string) {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.Background()
		ignoreGone(t, admin.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
		_, err := admin.CoreV1().Nodes().Patch(ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		ignoreGone(t, err)
	})
}

func ignoreGone(t *testing.T, err error) {
	t.Helper()
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// newProvisioner creates one and removes it after the test.
func newProvisioner(t *testing.T, name string, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(api.ProvisionerGVK)
	u.SetName(name)
	out, err := adminCustom.Resource(api.ProvisionerGVR).Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		ignoreGone(t, adminCustom.Resource(api.ProvisionerGVR).Delete(ctx, name, metav1.DeleteOptions{}))
		_, err := adminCustom.Resource(api.ProvisionerGVR).Patch(ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		ignoreGone(t, err)
	})
	return out
}

func withVersion(u *unstructured.Unstructured, version string) *unstructured.Unstructured {
	u.SetResourceVersion(version)
	return u
}
