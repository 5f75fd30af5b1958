package cluster

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long a node has not been ready does not depend on the clock of its machine. The API server writes when it got
// the last report of the kubelet.
func TestReadinessByTheClockOfTheAPIServer(t *testing.T) {
	got := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		status   corev1.ConditionStatus
		manager  string
		behind   time.Duration // the kubelet's clock
		unready  time.Duration // since when it is not ready, at its last report
		expected time.Duration
	}{
		"clocks agree":                      {corev1.ConditionFalse, "kubelet", 2 * time.Second, 3 * time.Minute, 3*time.Minute + 2*time.Second},
		"the kubelet's is behind":           {corev1.ConditionFalse, "kubelet", time.Hour, 3 * time.Minute, 3 * time.Minute},
		"the kubelet's is ahead":            {corev1.ConditionFalse, "kubelet", -time.Hour, 3 * time.Minute, 3 * time.Minute},
		"Kubernetes says that it is silent": {corev1.ConditionUnknown, "kubelet", time.Hour, 3 * time.Minute, time.Hour + 3*time.Minute},
		"nobody knows when that came":       {corev1.ConditionFalse, "kubectl", time.Hour, 3 * time.Minute, time.Hour + 3*time.Minute},
	} {
		report, came := metav1.NewTime(got.Add(-c.behind)), metav1.NewTime(got)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubelet", Time: &metav1.Time{Time: got.Add(-time.Hour)}}, // its labels
				{Manager: c.manager, Subresource: "status", Time: &came},
			}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
				{Type: corev1.NodeReady, Status: c.status, LastHeartbeatTime: report, LastTransitionTime: metav1.NewTime(report.Add(-c.unready))},
			}},
		}
		conditions := Readiness(node)
		if len(conditions) != 1 || conditions[0].Type != corev1.NodeReady {
			t.Fatalf("%s: %v", name, conditions)
		}
		if unready := got.Sub(conditions[0].LastTransitionTime.Time); unready != c.expected {
			t.Errorf("%s: not ready for %s, want %s", name, unready, c.expected)
		}
	}
}
