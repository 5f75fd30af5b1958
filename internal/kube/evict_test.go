package kube

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientretry "k8s.io/client-go/util/retry"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane/planetest"
)

// running creates a pod that is up on a node that nobody else uses.
func running(t *testing.T, c *Cluster, ns, name, on string) *corev1.Pod {
	t.Helper()
	pod := newPod(t, ns, name, nil)
	if err := c.Bind(t.Context(), keyOf(pod), on); err != nil {
		t.Fatal(err)
	}
	// Controllers write the status too.
	err := clientretry.RetryOnConflict(clientretry.DefaultBackoff, func() (err error) {
		if pod, err = admin.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pod, err = admin.CoreV1().Pods(ns).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// protect creates a budget that allows no disruption of the pods with the label,
// and waits until its controller has seen it and so have our caches.
func protect(t *testing.T, c *Cluster, ns, name, app string) {
	t.Helper()
	one := intstr.FromInt32(1)
	_, err := admin.PolicyV1().PodDisruptionBudgets(ns).Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	planetest.Eventually(t, "the budget counts the pod", func() error {
		b, err := admin.PolicyV1().PodDisruptionBudgets(ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || b.Status.ObservedGeneration < b.Generation || b.Status.ExpectedPods == 0 {
			return fmt.Errorf("it does not (%w)", err)
		}
		return nil
	})
	planetest.Eventually(t, "the caches have the budget", func() error {
		for _, b := range c.Snapshot().PodDisruptionBudgets {
			if b.Namespace == ns && b.Name == name {
				return nil
			}
		}
		return errors.New("they have not")
	})
}

func TestEvictUnderABudget(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "evict-a")
	pod := running(t, c, ns, "web", "evict-a")
	protect(t, c, ns, "web", "web")

	started := time.Now()
	err := c.Evict(t.Context(), keyOf(pod))
	var blocked *cluster.BlockedError
	if !errors.As(err, &blocked) || !slices.Equal(blocked.Budgets, []string{ns + "/web"}) {
		t.Fatalf("got %v, want a BlockedError of %s/web", err, ns)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("a blocked eviction held the caller up for %s", took)
	}

	protect(t, c, ns, "second", "web")
	if err := c.Evict(t.Context(), keyOf(pod)); !errors.As(err, &blocked) || !slices.Equal(blocked.Budgets, []string{ns + "/second", ns + "/web"}) {
		t.Errorf("under two budgets: got %v, want a BlockedError of both", err)
	}

	for _, name := range []string{"web", "second"} {
		if err := admin.PolicyV1().PodDisruptionBudgets(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	planetest.Eventually(t, "the pod may go without its budgets", func() error { return c.Evict(t.Context(), keyOf(pod)) })
	got, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
	if err == nil && got.DeletionTimestamp == nil || err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("the pod was not evicted: %v, %v", got.DeletionTimestamp, err)
	}
}

func TestEvictWhatIsGone(t *testing.T) {
	c := connect(t)
	ns := namespace(t)
	emptyNode(t, c, "evict-b")
	pod := running(t, c, ns, "web", "evict-b")
	another := keyOf(pod)
	another.UID = "00000000-0000-0000-0000-000000000000"
	for name, key := range map[string]cluster.PodKey{
		"a pod that does not exist":        {Namespace: ns, Name: "absent", UID: "u"},
		"a pod whose name another one has": another,
	} {
		if err := c.Evict(t.Context(), key); err != nil {
			t.Errorf("%s: got %v, want nothing", name, err)
		}
	}
	got, err := admin.CoreV1().Pods(ns).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || got.DeletionTimestamp != nil {
		t.Errorf("the other pod was evicted (%v)", err)
	}
}
