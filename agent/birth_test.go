package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A workload that fits nowhere gets a node, its pods are bound before the kubelet
// is up, and the node is labelled once it is.
func TestBirth(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("500m", "1Gi")})
		took := r.until("all pods are bound", func() bool { return r.count("web", bound) == 3 })
		if limit := 1500 * time.Millisecond; took > limit { // 1 s of it is the cloud's
			t.Errorf("took %s to bind, want at most %s", took, limit)
		}
		n := r.ours()[0]
		if ready := n.Status.Conditions[0]; ready.Status != corev1.ConditionFalse || ready.Reason != "Launching" {
			t.Errorf("the node of a booting machine says %v", ready)
		}
		r.until("all pods run", r.allRun("web", 3))
		r.until("the node is labelled", func() bool { return r.ours()[0].Labels[api.LabelInitialized] == "true" })
		if got := len(r.Launches()); got != 1 {
			t.Errorf("placed %d orders, want 1", got)
		}
		for _, reason := range []string{eventLaunched, eventInitialized} {
			if got := len(r.Events(reason)); got != 1 {
				t.Errorf("%d events %s, want 1", got, reason)
			}
		}
		if got := len(r.Events(eventNominated)); got != 3 {
			t.Errorf("%d events %s, want one for each pod", got, eventNominated)
		}
	})
}
