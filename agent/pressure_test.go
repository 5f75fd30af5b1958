package agent

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/avoid"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// Each new node runs out of disk as soon as it is up, and its pods are evicted. The machines are bought after pauses that
// become longer, events name the taint, and the pod gets its machine once the cause is mended.
func TestNewNodesUnderPressure(t *testing.T) {
	for name, edit := range map[string]func(*api.ProvisionerSpec){"they stay": func(*api.ProvisionerSpec) {}, "they are removed": emptyAfter(30)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", edit))
				r.start(Options{}, nil)
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
				tainted := map[string]bool{}
				for end := time.Now().Add(time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
					for _, n := range r.ours() {
						if cluster.FromNode(n, nil).Ready && !tainted[n.Name] {
							tainted[n.Name] = true
							r.Taint(n.Name, corev1.Taint{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule})
							r.DeletePods("web")
						}
					}
				}
				if bought := len(r.Launches()); bought < 4 || bought > 7 {
					t.Errorf("%d machines were bought in an hour", bought)
				}
				for _, reason := range []string{event.NeverRegistered, event.Unplaceable} {
					if told := r.Events(reason); len(told) == 0 || !strings.Contains(told[len(told)-1].Message, corev1.TaintNodeDiskPressure) {
						t.Errorf("the events %s do not name the taint: %v", reason, told)
					}
				}
				r.until("the workload runs", r.allRun("web", 1))
				time.Sleep(avoid.EarlyPressure)
				r.Scale("web", 3)
				if took := r.until("more of it run", r.allRun("web", 3)); took > 2*time.Minute {
					t.Errorf("machines are bought again after %s", took)
				}
			})
		})
	}
}

// A node that has been up for longer does not count, and neither does one whose taint keeps no pod away.
func TestPressureThatIsNoFailure(t *testing.T) {
	for name, age := range map[string]time.Duration{"the node is older": avoid.EarlyPressure + time.Minute, "no pod waits": time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
				time.Sleep(age)
				r.Taint(r.ours()[0].Name, corev1.Taint{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule})
				if name == "the node is older" {
					r.DeletePods("web")
				}
				time.Sleep(time.Minute)
				if told := r.Events(event.NeverRegistered); len(told) > 0 {
					t.Errorf("it counts as failed: %v", told)
				}
			})
		})
	}
}
