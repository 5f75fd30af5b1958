package agent

import (
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

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

// Pods that wait for a machine do not wait for the marks on others.
func TestSteeringHoldsUpNothing(t *testing.T) {
	took := map[bool]time.Duration{} // until the machine was ordered, by whether pods were not steered
	for _, not := range []bool{false, true} {
		inBubble(t, sim.Options{}, func(r *rig) {
			var steered atomic.Bool
			r.Apply(testProvisioner("default"))
			r.start(Options{Settings: decide.Settings{NotSteered: not}}, func(call string, when sim.When) error {
				if call == "Steer" && when == sim.Before {
					steered.Store(true)
					time.Sleep(2 * time.Second) // a slow API server
				}
				return nil
			})
			r.Deploy(sim.Workload{Name: "web", Replicas: 400, Spec: sim.Requests("100m", "100Mi")})
			r.until("the workload runs", r.allRun("web", 400))
			r.until("all nodes are up", r.allUp)
			r.Apply(testProvisioner("default", consolidates(func(d *api.Disruption) { d.EvictionCost, d.Drift = ptr.To(api.NumberOrNever("Never")), ptr.To(false) })))
			if time.Sleep(2 * time.Second); steered.Load() == not {
				t.Fatalf("pods were steered: %t", !not)
			}
			before := len(r.Launches())
			r.Deploy(sim.Workload{Name: "urgent", Replicas: 1, Spec: sim.Requests("15500m", "1Gi")})
			took[not] = r.until("a machine is ordered", func() bool { return len(r.Launches()) > before })
		})
	}
	if took[false] > took[true]+time.Second {
		t.Errorf("with steering, the machine was ordered after %s, and without after %s", took[false], took[true])
	}
}
