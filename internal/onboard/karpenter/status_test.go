package karpenter_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// TestPoolStatusHasKarpentersReady: only what is wrong with a NodePool or its class makes it unready, as with Karpenter.
// What else keeps it from buying is a condition of its own, and what was written is read back as it was.
func TestPoolStatusHasKarpentersReady(t *testing.T) {
	healthy := map[string]any{"Ready": "True", "ValidationSucceeded": "True", "NodeClassReady": "True"}
	blocked := map[string]any{"Ready": "True", "ValidationSucceeded": "True", "NodeClassReady": "True", "PurchasesBlocked": "True"}
	for reason, want := range map[string]map[string]any{
		"Ready": healthy, "LimitReached": blocked, "OfferingsUnavailable": blocked, "MarketUnavailable": blocked, "InstancesUnknown": blocked,
		"InstancesWithoutNodes": blocked, "LaunchFailed": blocked, "NoInstanceTypes": blocked, "Deleting": blocked,
		"ValidationFailed": {"Ready": "False", "ValidationSucceeded": "False", "NodeClassReady": "True"},
		"NoSubnets":        {"Ready": "False", "ValidationSucceeded": "True", "NodeClassReady": "False"},
		"TakingOver":       {"Ready": "False", "ValidationSucceeded": "True", "NodeClassReady": "True"},
	} {
		ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, Message: "the message", ObservedGeneration: 3}
		if reason == "Ready" {
			ready.Status = metav1.ConditionTrue
		}
		others := metav1.Condition{Type: "NodeRegistrationHealthy", Status: metav1.ConditionUnknown, Reason: "AwaitingReconciliation"}
		status := karpenter.PoolStatus(api.ProvisionerStatus{Conditions: []metav1.Condition{others, ready}})
		got := map[string]any{}
		for _, c := range status["conditions"].([]metav1.Condition) {
			got[c.Type] = string(c.Status)
			if c.Type == "PurchasesBlocked" && (c.Reason != reason || c.Message != "the message") {
				t.Errorf("%s: %v", reason, c)
			}
		}
		if got["NodeRegistrationHealthy"] != "Unknown" {
			t.Errorf("%s: a condition of Karpenter is lost: %v", reason, got)
		}
		delete(got, "NodeRegistrationHealthy")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", reason, diff)
		}
		read := karpenter.PoolConditions(map[string]any{"status": status})
		c := meta.FindStatusCondition(read, "Ready")
		if len(read) != 2 || c == nil || c.Status != ready.Status || c.Reason != reason {
			t.Errorf("%s: read back as %+v", reason, read)
		}
	}
}
