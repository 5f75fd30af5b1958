package cluster

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestWantedInDoubt(t *testing.T) {
	failure := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue}
	failing := &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Conditions: []appsv1.ReplicaSetCondition{failure}}}
	if WantedByReplicaSet(failing).Certain {
		t.Error("a ReplicaSet whose pods are refused is certain of them")
	}
	if WantedByJob(&batchv1.Job{Status: batchv1.JobStatus{Failed: 1}}).Certain {
		t.Error("a Job that waits before it tries again is certain of its pods")
	}
}

// A Job without completions is done once one of its pods has succeeded: it replaces none any more.
func TestWantedByWorkQueue(t *testing.T) {
	for succeeded, want := range map[int32]int{0: 5, 1: 2, 4: 2} {
		j := &batchv1.Job{Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](5)}, Status: batchv1.JobStatus{Succeeded: succeeded, Active: 2}}
		if got := WantedByJob(j).Pods; got != want {
			t.Errorf("after %d successes, with 2 active pods: wants %d, want %d", succeeded, got, want)
		}
	}
}
