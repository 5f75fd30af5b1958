package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// A pod gets a deletion cost of ours and loses it again; one that somebody else has set
// stays, and neither a pod that is gone nor another one of its name is an error.
func TestSteer(t *testing.T) {
	c, ns := connect(t), namespace(t)
	pod := newPod(t, ns, "web", nil)
	costs := func() (cost, mark string) {
		p, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Annotations[corev1.PodDeletionCost], p.Annotations[api.AnnotationSteered]
	}
	steer := func(key cluster.PodKey, grade int, want, wantMark string) {
		t.Helper()
		if err := c.Steer(t.Context(), key, grade); err != nil {
			t.Fatal(err)
		}
		if cost, mark := costs(); cost != want || mark != wantMark {
			t.Errorf("the deletion cost is %q, ours %q; want %q and %q", cost, mark, want, wantMark)
		}
	}
	key := keyOf(pod)
	steer(key, 2, "-2", "-2")
	steer(key, 0, "", "")
	steer(cluster.PodKey{Namespace: ns, Name: "web", UID: "another"}, 2, "", "")
	steer(cluster.PodKey{Namespace: ns, Name: "gone", UID: "gone"}, 2, "", "")
	p, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.Annotations = map[string]string{corev1.PodDeletionCost: "100"}
	if _, err := admin.CoreV1().Pods(ns).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	steer(key, 3, "100", "")
	steer(key, 0, "100", "")
}

// The right to change the status of pods is enough to give them a deletion cost, and lets nobody change what they run.
func TestSteeringTakesTheStatusOnly(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	pod := newPod(t, ns, "web", nil)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "steerer"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods/status"}, Verbs: []string{"patch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "steerer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "steerer"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "steerer"}},
	}
	if _, err := admin.RbacV1().Roles(ns).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.RbacV1().RoleBindings(ns).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(adminConfig)
	config.Impersonate.UserName = "steerer"
	c, err := New(config, Options{})
	if err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the pod is marked", func() error { return c.Steer(ctx, keyOf(pod), 2) })

	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(ns)
	image := []byte(`{"spec":{"containers":[{"name":"c","image":"another"}]}}`)
	if _, err := pods.Patch(ctx, "web", types.StrategicMergePatchType, image, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a change of the image: %v, want a refusal", err)
	}
	if _, err := pods.Patch(ctx, "web", types.StrategicMergePatchType, image, metav1.PatchOptions{}, "status"); err != nil {
		t.Error(err)
	}
	got, err := admin.CoreV1().Pods(ns).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if cost, image := got.Annotations[corev1.PodDeletionCost], got.Spec.Containers[0].Image; cost != "-2" || image != "none" {
		t.Errorf("deletion cost %q and image %s, want -2 and the one from before", cost, image)
	}
}
