package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A node that is bought for a NodePool belongs to it and carries its label, so that it
// goes with the NodePool and selectors find it.
func TestNodePoolOwnsItsNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		pool := testProvisioner("pool", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{api.LabelNodePool: "pool"} })
		pool.Source = &api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind}
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

// While Karpenter runs its NodePools buy nothing here, and their status is Karpenter's.
func TestNodePoolWaitsForKarpenter(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		pool := testProvisioner("pool")
		pool.Source = &api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind, Waits: "Karpenter is running"}
		r.Apply(pool)
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.never(5*time.Minute, "a machine is bought or a status written", func() bool {
			return len(r.Launches()) > 0 || len(r.Provisioner("pool").Status.Conditions) > 0
		})
	})
}

// A Provisioner that serves the same pods as a NodePool says so in a condition and an
// event: always while Karpenter serves the NodePool too, and later where price alone
// decides which of the two buys.
func TestRivalOfANodePool(t *testing.T) {
	for name, test := range map[string]struct {
		waits  string
		weight int32
		taint  bool
		want   string
	}{
		"Karpenter runs": {"Karpenter is running", 10, false, "NodePool pool serves the same pods; both may buy a node"},
		"other weight":   {"", 10, false, ""},
		"same weight":    {"", 0, false, "NodePool pool of the same weight serves the same pods"},
		"other taints":   {"Karpenter is running", 0, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				pool := testProvisioner("pool", func(s *api.ProvisionerSpec) {
					s.Weight = ptr.To(test.weight)
					if test.taint {
						s.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
					}
				})
				pool.Source = &api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind, Waits: test.waits}
				r.Apply(pool)
				r.Apply(testProvisioner("own"))
				r.start(Options{}, nil)
				r.until("the status is there", func() bool { return len(r.Provisioner("own").Status.Conditions) > 0 })
				said := ""
				if c := meta.FindStatusCondition(r.Provisioner("own").Status.Conditions, conditionWarnings); c != nil {
					said = c.Message
				}
				const rival = "NodePool pool "
				if test.want == "" && strings.Contains(said, rival) || !strings.Contains(said, test.want) {
					t.Errorf("the condition says %q, want %q", said, test.want)
				}
				told := slices.ContainsFunc(r.Events(event.DoubtfulSpec), func(e sim.Event) bool { return e.Name == "own" && strings.Contains(e.Message, rival) })
				if told != (test.want != "") {
					t.Errorf("events: %v", r.Events(event.DoubtfulSpec))
				}
			})
		})
	}
}
