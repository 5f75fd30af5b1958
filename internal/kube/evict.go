package kube

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Evict asks a pod to go. While a PodDisruptionBudget forbids it, that is a
// *cluster.BlockedError, and the caller decides when to ask again. A pod that is
// gone is fine.
func (c *Cluster) Evict(ctx context.Context, pod cluster.PodKey) error {
	return retry(ctx, func(ctx context.Context) error {
		err := c.evict(ctx, pod)
		if c.gone(ctx, pod, err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("evict pod %s: %w", pod, c.blocked(pod, err))
		}
		return nil
	})
}

func (c *Cluster) evict(ctx context.Context, pod cluster.PodKey) error {
	uid := types.UID(pod.UID)
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	}
	// As EvictV1 of the typed client, but without its own waiting for as long as a
	// budget says: other pods are to be evicted in the meantime.
	return c.client.CoreV1().RESTClient().Post().
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
}

// blocked turns the API server's refusals for budgets' sake into a BlockedError.
// A pod under two budgets can never be evicted and answers with an internal error.
func (c *Cluster) blocked(key cluster.PodKey, err error) error {
	var budgets []string
	if p, ok := get[*pod](c.caches.pods, key.Namespace, key.Name); ok {
		budgets = c.view.budgetsOver(&p.converted)
	}
	switch {
	case apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause),
		apierrors.IsInternalError(err) && len(budgets) > 1:
		return &cluster.BlockedError{Budget: strings.Join(budgets, ", ")}
	}
	return err
}

// DeletePod deletes a pod without regard to budgets, and with the given time to
// shut down or cluster.OwnGrace. A pod that is gone is fine.
func (c *Cluster) DeletePod(ctx context.Context, pod cluster.PodKey, grace time.Duration) error {
	uid := types.UID(pod.UID)
	var seconds *int64
	if grace != cluster.OwnGrace {
		seconds = ptr.To(int64(grace / time.Second))
	}
	return retry(ctx, func(ctx context.Context) error {
		err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: seconds,
			Preconditions:      &metav1.Preconditions{UID: &uid},
		})
		if err != nil && !c.gone(ctx, pod, err) {
			return fmt.Errorf("delete pod %s: %w", pod, err)
		}
		return nil
	})
}

// gone reports whether a call met no such pod: none of the name, or, after a
// conflict, another one.
func (c *Cluster) gone(ctx context.Context, key cluster.PodKey, err error) bool {
	if apierrors.IsConflict(err) {
		var pod *corev1.Pod
		pod, err = c.client.CoreV1().Pods(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if err == nil {
			return string(pod.UID) != key.UID
		}
	}
	return apierrors.IsNotFound(err)
}
