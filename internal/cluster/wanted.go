package cluster

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// WantedByReplicaSet returns the replicas. The number is not certain while creating pods fails.
func WantedByReplicaSet(r *appsv1.ReplicaSet) Wanted {
	failing := slices.ContainsFunc(r.Status.Conditions, func(c appsv1.ReplicaSetCondition) bool {
		return c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue
	})
	return Wanted{Pods: int(ptr.Deref(r.Spec.Replicas, 1)), Certain: !failing}
}

// WantedByStatefulSet returns the replicas, or 1 if the pods are created one after the other.
func WantedByStatefulSet(s *appsv1.StatefulSet) Wanted {
	if s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		return Wanted{Pods: int(ptr.Deref(s.Spec.Replicas, 1)), Certain: true}
	}
	return Wanted{Pods: 1, Certain: true}
}

// WantedByJob returns the parallelism, but no more than the completions that are left. The number
// is not certain after a failure, because a Job waits before it replaces a failed pod.
func WantedByJob(j *batchv1.Job) Wanted {
	wanted := ptr.Deref(j.Spec.Parallelism, 1)
	switch {
	case j.Spec.Completions != nil:
		wanted = min(wanted, *j.Spec.Completions-j.Status.Succeeded)
	case j.Status.Succeeded > 0: // the first success tells that the work is done: pods that run end, and no others are created
		wanted = min(wanted, j.Status.Active)
	}
	return Wanted{Pods: int(wanted), Certain: j.Status.Failed == 0}
}
