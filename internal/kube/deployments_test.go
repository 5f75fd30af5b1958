package kube

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

func newDeployment(t *testing.T, namespace, name string, replicas int32) {
	t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{api.AnnotationSurge: "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "main", Image: "pause"}}},
			},
		},
	}
	if _, err := admin.AppsV1().Deployments(namespace).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// seen waits until the caches show a Deployment as it should be.
func seen(t *testing.T, c *Cluster, namespace, name string, as func(*cluster.Deployment) bool) cluster.Deployment {
	t.Helper()
	var got cluster.Deployment
	planetest.Eventually(t, "the Deployment is in the caches", func() error {
		d := c.Snapshot().Deployment(namespace, name)
		if d == nil || !as(d) {
			return fmt.Errorf("it is %+v", d)
		}
		got = *d
		return nil
	})
	return got
}

// A Deployment is scaled only as it was read, and it is known from how many replicas the agent has scaled it up, unless it has been
// scaled since.
func TestScaleDeployment(t *testing.T) {
	c, ns := connect(t), namespace(t)
	newDeployment(t, ns, "web", 2)
	first := seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 2 })
	if first.Surge != "true" || first.Before != 0 || first.Recreate || first.Autoscaled {
		t.Errorf("it is read as %+v", first)
	}
	scale := func(d *cluster.Deployment, replicas int, want error) {
		t.Helper()
		if err := c.ScaleDeployment(t.Context(), d, replicas); !errors.Is(err, want) {
			t.Errorf("scaled to %d: %v, want %v", replicas, err, want)
		}
	}
	// Its controller may write its status at any time, which makes another version of it.
	planetest.Eventually(t, "it is scaled", func() error {
		first = seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 2 })
		return c.ScaleDeployment(t.Context(), &first, 3)
	})
	seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 3 && d.Before == 2 })
	if now, err := c.Deployment(t.Context(), ns, "web"); err != nil || now == nil || now.Replicas != 3 || now.Before != 2 || now.UID != first.UID {
		t.Errorf("without the caches it is %+v: %v", now, err)
	}
	scale(&first, 4, cluster.ErrStale)
	scale(&first, 3, cluster.ErrStale)
	scale(&first, -1, cluster.ErrRefused)
	user := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if _, err := admin.AppsV1().Deployments(ns).UpdateScale(t.Context(), "web", user, metav1.UpdateOptions{FieldManager: "kubectl"}); err != nil {
		t.Fatal(err)
	}
	seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 5 && d.Before == 0 })
	planetest.Eventually(t, "a number that it has is set again", func() error {
		now := seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 5 })
		return c.ScaleDeployment(t.Context(), &now, 5)
	})
	if seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 5 }).Before != 0 {
		t.Error("the agent counts as the one who has scaled it to what it was")
	}
	for _, replicas := range []int{7, 5} {
		planetest.Eventually(t, "it is scaled up and back", func() error {
			now := seen(t, c, ns, "web", func(*cluster.Deployment) bool { return true })
			return c.ScaleDeployment(t.Context(), &now, replicas)
		})
		seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == replicas && (d.Before == 5) == (replicas == 7) })
	}
	apply := func(replicas int32) {
		t.Helper()
		spec := appsv1apply.Deployment("web", ns).WithSpec(appsv1apply.DeploymentSpec().WithReplicas(replicas))
		if _, err := admin.AppsV1().Deployments(ns).Apply(t.Context(), spec, metav1.ApplyOptions{FieldManager: "gitops", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	apply(4)
	planetest.Eventually(t, "it is scaled from what was applied", func() error {
		now := seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 4 })
		return c.ScaleDeployment(t.Context(), &now, 5)
	})
	seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 5 && d.Before == 4 })
	apply(5)
	seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Replicas == 5 && d.Before == 0 })
	if err := admin.AppsV1().Deployments(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	scale(&first, 2, cluster.ErrStale)
	if gone, err := c.Deployment(t.Context(), ns, "web"); err != nil || gone != nil {
		t.Errorf("the one that is gone is %+v: %v", gone, err)
	}
}

// An autoscaler's Deployment is known as such.
func TestAutoscaledDeployment(t *testing.T) {
	c, ns := connect(t), namespace(t)
	newDeployment(t, ns, "web", 1)
	newDeployment(t, ns, "other", 1)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "any"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, MaxReplicas: 3,
		},
	}
	if _, err := admin.AutoscalingV2().HorizontalPodAutoscalers(ns).Create(t.Context(), hpa, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen(t, c, ns, "web", func(d *cluster.Deployment) bool { return d.Autoscaled })
	seen(t, c, ns, "other", func(d *cluster.Deployment) bool { return !d.Autoscaled })
}
