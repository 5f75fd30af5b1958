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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
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

// nodePool is a NodePool whose drains have the limit, or none.
func nodePool(limit time.Duration) *api.Provisioner {
	pool := testProvisioner("default", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{api.LabelNodePool: "default"} })
	if limit > 0 {
		bounded(limit)(&pool.Spec)
	}
	pool.Source = &api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind}
	return pool
}

// precious is a workload whose pods must not be disrupted.
func precious() sim.Workload {
	return sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi"), Annotations: map[string]string{api.AnnotationDoNotDisrupt: "true"}}
}

// TestNodePoolsDrainSpares: the drain of a node that a NodePool has made waits for pods that must not be disrupted,
// and nothing is bought for them meanwhile. The terminationGracePeriod ends that, and so does an interruption.
func TestNodePoolsDrainSpares(t *testing.T) {
	const grace = 30 * time.Second // of the pod, which is over when the limit is
	for name, c := range map[string]struct {
		limit       time.Duration
		begin       func(r *rig, node string)
		least, most time.Duration
	}{
		"a person deletes the node": {begin: func(r *rig, node string) { r.DeleteNode(node) }, least: time.Hour},
		"the NodePool is deleted":   {begin: func(r *rig, _ string) { r.DeleteProvisioner("default") }, least: time.Hour},
		"maintenance is planned":    {begin: notifying(offer.NoticeScheduledChange), least: time.Hour},
		"the machine is taken back": {begin: notifying(offer.NoticeSpotInterruption), most: time.Minute},
		"the limit passes":          {limit: 10 * time.Minute, begin: func(r *rig, node string) { r.DeleteNode(node) }, least: 10*time.Minute - grace, most: 11 * time.Minute},
		"it drifts, within the limit": {limit: 10 * time.Minute, begin: func(r *rig, _ string) {
			changed := nodePool(10 * time.Minute)
			changed.Spec.Labels["team"] = "a"
			r.Apply(changed)
		}, least: 10 * time.Minute, most: 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(nodePool(c.limit))
				process := r.Connect(nil)
				r.startOn(poolCluster{process.Cluster}, process.Cloud, Options{Notices: process.Notices})
				r.Deploy(precious())
				r.until("the workload runs", r.allRun("web", 1))
				r.until("all nodes are up", r.allUp)
				old, machines := r.ours()[0].Name, len(r.Launches())
				c.begin(r, old)
				if c.least > 0 {
					r.never(c.least-time.Second, "the pod is evicted, or a machine is bought", func() bool { return r.onNode("web", old) != 1 || len(r.Launches()) > machines })
				}
				if c.most == 0 {
					r.Scale("web", 0) // the pod ends by itself
				}
				if took := r.until("the node is gone", r.gone(old)); c.least+took > max(c.most, c.least+time.Minute) {
					t.Errorf("it took %s, want %s at most", c.least+took, c.most)
				}
				if c.most > 0 {
					r.until("the workload runs", r.allRun("web", 1))
				}
			})
		})
	}
}

func notifying(kind offer.NoticeKind) func(r *rig, node string) {
	return func(r *rig, _ string) {
		r.Notify(offer.Notice{Kind: kind, InstanceIDs: []string{r.Machines()[0].ID}}, 1)
	}
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
