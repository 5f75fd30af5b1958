package kube

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Wanted returns how many pods a ReplicaSet, a Job or a StatefulSet makes without
// waiting for any of them to run; a StatefulSet that makes one after the other, 1.
// An owner that is gone is cluster.ErrGone, and one of another kind an error. It is
// asked once: whoever waits for the answer would rather go on without it.
func (c *Cluster) Wanted(ctx context.Context, namespace string, owner cluster.Owner) (int, error) {
	var found metav1.Object
	var wanted int32
	err := callOnce(ctx, func(ctx context.Context) (err error) {
		found, wanted, err = c.wanted(ctx, namespace, owner)
		return err
	})
	if apierrors.IsNotFound(err) || err == nil && string(found.GetUID()) != owner.UID {
		err = cluster.ErrGone
	}
	if err != nil {
		return 0, fmt.Errorf("read how many pods %s %s/%s wants: %w", owner.Kind, namespace, owner.Name, err)
	}
	return int(wanted), nil
}

func (c *Cluster) wanted(ctx context.Context, namespace string, owner cluster.Owner) (metav1.Object, int32, error) {
	switch owner.Kind {
	case "ReplicaSet":
		o, err := c.client.AppsV1().ReplicaSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, ptr.Deref(o.Spec.Replicas, 1), err
	case "StatefulSet":
		o, err := c.client.AppsV1().StatefulSets(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, wantedByStatefulSet(&o.Spec), err
	case "Job":
		o, err := c.client.BatchV1().Jobs(namespace).Get(ctx, owner.Name, metav1.GetOptions{})
		return o, wantedByJob(o), err
	}
	return nil, 0, fmt.Errorf("kind %s is not known to make pods", owner.Kind)
}

func wantedByStatefulSet(s *appsv1.StatefulSetSpec) int32 {
	if s.PodManagementPolicy == appsv1.ParallelPodManagement {
		return ptr.Deref(s.Replicas, 1)
	}
	return 1
}

// wantedByJob returns as many as run at a time, but no more than are left to do.
func wantedByJob(j *batchv1.Job) int32 {
	wanted := ptr.Deref(j.Spec.Parallelism, 1)
	if j.Spec.Completions != nil {
		wanted = min(wanted, *j.Spec.Completions-j.Status.Succeeded)
	}
	return wanted
}
