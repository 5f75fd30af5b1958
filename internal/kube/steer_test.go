package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
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
