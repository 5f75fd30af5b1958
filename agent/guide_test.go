package agent

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// softly counts the soft taints of the nodes.
func (r *rig) softly() (count int) {
	for _, n := range r.ours() {
		for _, t := range n.Spec.Taints {
			if t.Effect == corev1.TaintEffectPreferNoSchedule {
				count++
			}
		}
	}
	return count
}

// spreadOut is a cluster of small nodes, each of which two thirds of the pods have left.
func (r *rig) spreadOut(options Options, workloads ...string) *running {
	small := func(s *api.ProvisionerSpec) {
		s.InstanceTypes = []string{"m5.large"}
		s.Disruption.EvictionCost = new(api.NumberOrNever)
		*s.Disruption.EvictionCost = "Never"
	}
	r.Apply(testProvisioner("default", consolidates(), small))
	a := r.start(options, nil)
	each := 18 / len(workloads)
	for _, name := range workloads {
		r.Deploy(sim.Workload{Name: name, Replicas: each, Spec: sim.Requests("550m", "1Gi")})
	}
	for _, name := range workloads {
		r.until("the pods of "+name+" run", r.allRun(name, each))
	}
	r.until("all nodes are up", r.allUp)
	i := 0
	r.Leave(func(*corev1.Pod) bool { i++; return i%3 != 0 })
	r.until("they have stopped", func() bool {
		return !slices.ContainsFunc(r.Pods(), func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil })
	})
	return a
}

// New pods are led away from nodes that should become empty, without a pod that waits for
// it, and the taints go with the option.
func TestArrivalsAreGuided(t *testing.T) {
	inBubble(t, sim.Options{Scores: true}, func(r *rig) {
		r.spreadOut(Options{}, "a", "b", "c")
		r.until("soft taints are there", func() bool { return r.softly() > 0 })
		before := len(r.ours())
		r.Deploy(sim.Workload{Name: "new", Replicas: 3, Spec: sim.Requests("550m", "1Gi")})
		r.until("the new pods run", r.allRun("new", 3))
		for _, p := range r.Pods() {
			if n := r.node(p.Spec.NodeName); p.Labels["app"] == "new" && len(n.Spec.Taints) > 1 {
				t.Errorf("pod %s is on %s, which has %d soft taints", p.Name, n.Name, len(n.Spec.Taints))
			}
		}
		if after := len(r.ours()); after > before {
			t.Errorf("%d nodes, and %d before", after, before)
		}
		r.Apply(testProvisioner("default"))
		r.until("the soft taints are gone", func() bool { return r.softly() == 0 })
	})
}

// An agent that may not guide takes the taints off that another has left.
func TestGuidingCanBeTurnedOff(t *testing.T) {
	inBubble(t, sim.Options{Scores: true}, func(r *rig) {
		a := r.spreadOut(Options{}, "a", "b", "c")
		r.until("soft taints are there", func() bool { return r.softly() > 0 })
		a.end()
		r.start(Options{Settings: decide.Settings{NotGuided: true}}, nil)
		r.until("the soft taints are gone", func() bool { return r.softly() == 0 })
		r.never(10*time.Minute, "soft taints come back", func() bool { return r.softly() > 0 })
	})
}
