package peer

import (
	"encoding/json"
	"testing"

	"github.com/awslabs/operatorpkg/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// TestKarpenterDerivesReady: a NodePool whose limit is reached is ready, also when Karpenter has looked at it. One
// whose machines are being taken over is not, but is when Karpenter has looked at it.
func TestKarpenterDerivesReady(t *testing.T) {
	for reason, ready := range map[string]bool{"LimitReached": true, "TakingOver": false} {
		t.Run(reason, func(t *testing.T) { derivesReady(t, reason, ready) })
	}
}

func derivesReady(t *testing.T, reason string, before bool) {
	pool := &v1.NodePool{}
	written := karpenter.PoolStatus(api.ProvisionerStatus{Conditions: []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionFalse, Reason: reason, ObservedGeneration: 3, LastTransitionTime: metav1.Now(),
	}}})
	asJSON, err := json.Marshal(map[string]any{"status": written})
	if err == nil {
		err = json.Unmarshal(asJSON, pool)
	}
	if err != nil {
		t.Fatal(err)
	}
	pool.Generation = 3
	if got := pool.StatusConditions().IsTrue(status.ConditionReady); got != before {
		t.Fatalf("the NodePool is ready: %t, want %t", got, before)
	}
	for _, dependent := range []string{v1.ConditionTypeValidationSucceeded, v1.ConditionTypeNodeClassReady} {
		pool.StatusConditions().SetTrue(dependent)
	}
	if !pool.StatusConditions().IsTrue(status.ConditionReady) {
		t.Errorf("the NodePool stays not ready: %+v", pool.StatusConditions().List())
	}
}
