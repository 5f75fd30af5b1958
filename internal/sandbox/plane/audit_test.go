package plane

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

// testAudit lets the user whose requests are noted, and another, make ConfigMaps and
// try what they may not.
func testAudit(t *testing.T, plane *Plane, admin kubernetes.Interface) {
	ctx := t.Context()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "maker"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
	}}
	if _, err := admin.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "makers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "maker"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "auditor"}, {APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "other"}},
	}
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	other, auditor := as(t, plane, "other"), as(t, plane, "auditor")
	err := wait.PollUntilContextTimeout(ctx, pollInterval, startTimeout, true, func(context.Context) (bool, error) { // until the authoriser has heard of it
		_, err := other.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "others"}}, metav1.CreateOptions{})
		return err == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	maps := auditor.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "own"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if err := maps.Delete(ctx, "own", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("delete: %v, want a refusal", err)
	}
	space, err := admin.CoreV1().Namespaces().Get(ctx, "default", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	blocking := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "blocking", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "Namespace", Name: space.Name, UID: space.UID, BlockOwnerDeletion: ptr.To(true)},
	}}}
	if _, err := maps.Create(ctx, blocking, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an owner is blocked without the right to its finalizers: %v", err)
	}

	events, err := ReadAudit(plane.config.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprint(e.Verb, " ", e.ObjectRef.Resource, " ", e.ObjectRef.Name, " ", e.ResponseStatus.Code, " ", e.Forbidden(), " ", e.AllowedBy()))
	}
	const allowed = ` false RBAC: allowed by ClusterRoleBinding "makers" of ClusterRole "maker" to User "auditor"`
	want := []string{"create configmaps own 201" + allowed, "delete configmaps own 403 true ", "create configmaps blocking 403" + allowed}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
}

// as returns a client with the token of another user.
func as(t *testing.T, plane *Plane, user string) kubernetes.Interface {
	t.Helper()
	config := rest.AnonymousClientConfig(plane.RESTConfig())
	config.BearerToken = user
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
