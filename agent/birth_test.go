package agent

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
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
		for _, reason := range []string{event.Launched, event.Initialized} {
			if got := len(r.Events(reason)); got != 1 {
				t.Errorf("%d events %s, want 1", got, reason)
			}
		}
		if got := len(r.Events(event.Nominated)); got != 3 {
			t.Errorf("%d events %s, want one for each pod", got, event.Nominated)
		}
	})
}

// With podBinding Scheduler the pods are left to kube-scheduler, and nothing is
// bought twice while they wait for it.
func TestPodBindingScheduler(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.PodBinding = api.BindScheduler }))
		r.start(Options{}, func(call string, _ sim.When) error {
			if call == "Bind" {
				t.Error("the agent binds a pod")
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("500m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 3))
		time.Sleep(time.Minute)
		if got := len(r.Launches()); got != 1 {
			t.Errorf("placed %d orders, want 1", got)
		}
	})
}

// A pod that fits a node that is up is left to kube-scheduler, even if that is slow.
func TestRoomOnNodeThatIsUp(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.2xlarge"} }),
			sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("500m", "1Gi")})
		r.Deploy(sim.Workload{Name: "more", Replicas: 4, Spec: sim.Requests("500m", "1Gi")})
		r.until("the others run", r.allRun("more", 4))
		time.Sleep(time.Minute)
		if got := len(r.Launches()); got != 1 {
			t.Errorf("placed %d orders, want none for pods that had room", got)
		}
	})
}

// An instance whose name the cloud does not tell in time gets its node later, and
// nothing is bought in the meantime. Nor is it if the cloud does not list the instance at first.
func TestInstanceWithoutName(t *testing.T) {
	for name, unlisted := range map[string]time.Duration{"listed at once": 0, "listed later": 50 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default"))
				r.retail(func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error) {
					d, err := c.Launch(ctx, o)
					d.Instances = slices.Clone(d.Instances)
					for i := range d.Instances {
						d.Instances[i].NodeName = ""
						r.unlist(d.Instances[i].ID, unlisted)
					}
					return d, err
				})
				r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "1Gi")})
				r.until("the workload runs", r.allRun("web", 2))
				if got := len(r.Launches()); got != 1 {
					t.Errorf("placed %d orders, want 1", got)
				}
			})
		})
	}
}
