package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Wanted returns how many pods a ReplicaSet, a Job or a StatefulSet creates without waiting for
// others of its pods to run. For a StatefulSet that creates its pods one after the other, that is
// 1. The number is not certain if creating or running pods of the owner has failed, or if the
// namespace has a quota. The error is cluster.ErrGone if the owner is gone. Wanted does not retry,
// because its caller would rather do without the answer than wait.
func (c *Cluster) Wanted(ctx context.Context, namespace string, owner cluster.Owner) (cluster.Wanted, error) {
	var found metav1.Object
	var wanted cluster.Wanted
	var unbounded bool
	var quotas sync.WaitGroup
	quotas.Go(func() { unbounded = c.withoutQuota(ctx, namespace) })
	err := callOnce(ctx, func(ctx context.Context) (err error) {
		found, wanted, err = c.wanted(ctx, namespace, owner)
		return err
	})
	quotas.Wait()
	if apierrors.IsNotFound(err) || err == nil && string(found.GetUID()) != owner.UID {
		err = cluster.ErrGone
	}
	if err != nil {
		return cluster.Wanted{}, fmt.Errorf("read how many pods %s %s/%s wants: %w", owner.Kind, namespace, owner.Name, err)
	}
	wanted.Certain = wanted.Certain && unbounded
	return wanted, nil
}

func (c *Cluster) wanted(ctx context.Context, namespace string, owner cluster.Owner) (metav1.Object, cluster.Wanted, error) {
	switch owner.Kind {
	case "ReplicaSet":
		o, err := c.client.AppsV1().ReplicaSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, wantedByReplicaSet(o), err
	case "StatefulSet":
		o, err := c.client.AppsV1().StatefulSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, wantedByStatefulSet(&o.Spec), err
	case "Job":
		o, err := c.client.BatchV1().Jobs(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, wantedByJob(o), err
	}
	return nil, cluster.Wanted{}, fmt.Errorf("it is not known how many pods an owner of kind %s creates", owner.Kind)
}

func wantedByReplicaSet(r *appsv1.ReplicaSet) cluster.Wanted {
	failing := slices.ContainsFunc(r.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue
	})
	return cluster.Wanted{Pods: int(ptr.Deref(r.Spec.Replicas, 1)), Certain: !failing}
}

func wantedByStatefulSet(s *appsv1.StatefulSetSpec) cluster.Wanted {
	if s.PodManagementPolicy == appsv1.ParallelPodManagement {
		return cluster.Wanted{Pods: int(ptr.Deref(s.Replicas, 1)), Certain: true}
	}
	return cluster.Wanted{Pods: 1, Certain: true}
}

// wantedByJob returns the parallelism, but no more than the completions that are left. The number
// is not certain after a failure, because a Job waits before it replaces a failed pod.
func wantedByJob(j *batchv1.Job) cluster.Wanted {
	wanted := ptr.Deref(j.Spec.Parallelism, 1)
	if j.Spec.Completions != nil {
		wanted = min(wanted, *j.Spec.Completions-j.Status.Succeeded)
	}
	return cluster.Wanted{Pods: int(wanted), Certain: j.Status.Failed == 0}
}

// withoutQuota reports whether the namespace is known to have no ResourceQuota.
func (c *Cluster) withoutQuota(ctx context.Context, namespace string) bool {
	none := false
	err := callOnce(ctx, func(ctx context.Context) error {
		quotas, err := c.client.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		none = err == nil && len(quotas.Items) == 0
		return err
	})
	return err == nil && none
}
