package agent

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A node that is bought for a NodePool belongs to it and carries its label, so that it
// goes with the NodePool and selectors find it.
func TestNodePoolOwnsItsNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		pool := testProvisioner("pool", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{api.LabelNodePool: "pool"} })
		pool.Source = &api.Source{Kind: api.NodePoolKind}
		web := sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")}
		web.Spec.NodeSelector = map[string]string{api.LabelNodePool: "pool"}
		r.served(pool, web)
		for _, n := range r.ours() {
			owner := n.OwnerReferences[0]
			if owner.Kind != api.NodePoolKind || owner.APIVersion != "karpenter.sh/v1" || owner.Name != "pool" || n.Labels[api.LabelNodePool] != "pool" {
				t.Errorf("node %s belongs to %+v and is labelled %v", n.Name, owner, n.Labels)
			}
		}
	})
}

// While Karpenter runs its NodePools buy nothing here, and their condition says so.
func TestNodePoolWaitsForKarpenter(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		pool := testProvisioner("pool")
		pool.Source = &api.Source{Kind: api.NodePoolKind, Waits: "Karpenter is running"}
		r.Apply(pool)
		r.start(Options{}, nil)
		r.until("the status is there", func() bool { return len(r.Provisioner("pool").Status.Conditions) > 0 })
		ready := meta.FindStatusCondition(r.Provisioner("pool").Status.Conditions, conditionReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != view.ReasonKarpenterRuns || ready.Message != "Karpenter is running" {
			t.Errorf("condition %+v", ready)
		}
	})
}
