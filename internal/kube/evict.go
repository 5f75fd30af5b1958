package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/kube/podcache"
)

// Evict evicts a pod. If a PodDisruptionBudget does not allow that now, it returns a
// *cluster.BlockedError, and the caller decides when to try again. It succeeds if the pod is
// gone.
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
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: metav1.NewPreconditionDeleteOptions(pod.UID),
	}
	// This is EvictV1 of the typed client without its retries: while a budget blocks this pod,
	// others can be evicted.
	return c.client.CoreV1().RESTClient().Post().
		Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
}

// blocked turns an error because of a PodDisruptionBudget into a BlockedError. A pod that several
// budgets select can never be evicted; for such a pod, the API server returns an internal error.
func (c *Cluster) blocked(key cluster.PodKey, err error) error {
	byBudget := apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause)
	if !byBudget && !apierrors.IsInternalError(err) {
		return err
	}
	var budgets []string
	if p, ok := get[*podcache.Pod](c.caches.pods, key.Namespace, key.Name); ok {
		budgets = c.view.budgetsOver(&p.Converted)
	}
	if byBudget || len(budgets) > 1 {
		return &cluster.BlockedError{Budgets: budgets}
	}
	return err
}

// DeletePod deletes a pod with its own termination grace period, or with this one if it is not 0. It ignores
// budgets, and succeeds if the pod is gone. The pod gets the condition that an eviction sets, which the
// podFailurePolicy of a Job may ask for. One that cannot get it has to go nevertheless.
func (c *Cluster) DeletePod(ctx context.Context, pod cluster.PodKey, within time.Duration) error {
	var seconds *int64
	if within > 0 {
		seconds = ptr.To(max(int64(within/time.Second), 1)) // 0 would not wait for the kubelet
	}
	_ = retry(ctx, func(ctx context.Context) error { return c.noteDisruption(ctx, pod) })
	return c.deletePod(ctx, pod, seconds, nil)
}

func (c *Cluster) noteDisruption(ctx context.Context, pod cluster.PodKey) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, // not of another pod of its name
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
			Reason: "DeletionByPackhorse", Message: "Packhorse: the node is removed, and the time for evictions is over",
		}}},
	})
	if err == nil {
		_, err = c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: manager}, "status")
	}
	if c.gone(ctx, pod, err) {
		return nil
	}
	return err
}

// RemovePod deletes a pod at once, without waiting for a kubelet. It returns cluster.ErrStale if
// the pod has changed since it was seen, because a kubelet may have started it. It succeeds if
// the pod is gone.
func (c *Cluster) RemovePod(ctx context.Context, seen *cluster.Pod) error {
	return c.deletePod(ctx, seen.PodKey, ptr.To[int64](0), &seen.Version)
}

func (c *Cluster) deletePod(ctx context.Context, pod cluster.PodKey, seconds *int64, version *string) error {
	options := metav1.DeleteOptions{GracePeriodSeconds: seconds, Preconditions: metav1.NewUIDPreconditions(pod.UID)}
	options.Preconditions.ResourceVersion = version
	return retry(ctx, func(ctx context.Context) error {
		err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
		switch {
		case err == nil, c.gone(ctx, pod, err):
			return nil
		case apierrors.IsConflict(err):
			err = cluster.ErrStale
		}
		return fmt.Errorf("delete pod %s: %w", pod, err)
	})
}

// gone reports whether the error of a request means that the pod is gone: there is no pod of its
// name, or the request was a conflict and the pod of that name is another one.
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
