package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// steered lists the pods that have a mark of ours, by name.
func (r *rig) steered() map[string]bool {
	out := map[string]bool{}
	for _, p := range r.Pods() {
		if p.Annotations[api.AnnotationSteered] != "" {
			out[p.Name] = true
		}
	}
	return out
}

// Where a workload shrinks, its pods on nodes that should become empty are ended first. The
// marks go with consolidation.
func TestDeparturesAreSteered(t *testing.T) {
	inBubble(t, sim.Options{Scores: true}, func(r *rig) {
		r.spreadOut(Options{}, "web")
		r.until("two pods are marked", func() bool { return len(r.steered()) == 2 })
		before := r.steered()
		r.Scale("web", 4)
		r.until("two pods are gone", r.allRun("web", 4))
		for _, p := range r.Pods() {
			if before[p.Name] && p.DeletionTimestamp == nil {
				t.Errorf("pod %s was marked, and others were ended", p.Name)
			}
		}
		r.Apply(testProvisioner("default"))
		r.until("the marks are gone", func() bool { return len(r.steered()) == 0 })
	})
}

// A deletion cost that somebody has set stays, and an agent that may not steer takes off the
// marks that another has left.
func TestSteeringCanBeTurnedOff(t *testing.T) {
	inBubble(t, sim.Options{Scores: true}, func(r *rig) {
		a := r.spreadOut(Options{}, "a", "b", "c")
		r.Deploy(sim.Workload{Name: "own", Replicas: 3, Spec: sim.Requests("100m", "128Mi"), Annotations: map[string]string{corev1.PodDeletionCost: "5"}})
		r.until("pods are marked", func() bool { return len(r.steered()) > 0 && r.allRun("own", 3)() })
		a.end()
		r.start(Options{Settings: decide.Settings{NotSteered: true}}, nil)
		r.until("the marks are gone", func() bool { return len(r.steered()) == 0 })
		r.never(10*time.Minute, "marks come back", func() bool { return len(r.steered()) > 0 })
		for _, p := range r.Pods() {
			if p.Labels["app"] == "own" && p.Annotations[corev1.PodDeletionCost] != "5" {
				t.Errorf("the deletion cost of %s is %q", p.Name, p.Annotations[corev1.PodDeletionCost])
			}
		}
	})
}
