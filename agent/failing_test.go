package agent

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A webhook refuses all bindings: kube-scheduler reports an error for pods that fit a node, and finds pods unschedulable
// that fit none. The machines that were bought for them stay, no others are bought, and the pods' events and the status
// page say what is wrong.
func TestMachinesStayForPodsThatCannotBeBound(t *testing.T) {
	for name, c := range map[string]struct {
		restarts bool
		goes     func(*api.ProvisionerSpec) // when a node is not worth its price
	}{
		"all the time":           {goes: emptyAfter(30)},
		"after a restart":        {goes: emptyAfter(30), restarts: true},
		"if nodes in use may go": {goes: consolidates()},
	} {
		t.Run(name, func(t *testing.T) {
			var refuses atomic.Bool
			refuses.Store(true)
			inBubble(t, sim.Options{BindingFails: refuses.Load}, func(r *rig) {
				start := func() *running { return r.start(Options{}, failing("Bind", &refuses, "a webhook denies it")) }
				r.Apply(testProvisioner("default", c.goes))
				a := start()
				web := sim.Workload{Name: "web", Replicas: 4, Spec: sim.Requests("900m", "1Gi")}
				web.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelHostname, MinDomains: ptr.To[int32](4), WhenUnsatisfiable: corev1.DoNotSchedule,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
				}}
				r.Deploy(web)
				r.until("the machines are up", func() bool { return len(r.ours()) == 4 && r.allUp() })
				bought := len(r.Launches())
				if c.restarts {
					time.Sleep(time.Minute)
					a.end()
					a = start()
				}
				time.Sleep(30 * time.Minute)
				if now, orders := len(r.Machines()), len(r.Launches()); now != 4 || orders != bought {
					t.Errorf("%d machines, want 4, after %d orders, want %d", now, orders, bought)
				}
				said := r.Events(event.NotScheduled)
				if len(said) != 4 || !slices.ContainsFunc(said, func(e sim.Event) bool { return strings.Contains(e.Message, "its condition PodScheduled says why") }) {
					t.Errorf("events %v, want one for each pod", said)
				}
				if waiting := a.Status().Pending; len(waiting) != 1 || waiting[0].Count != 4 || !waiting[0].Stuck {
					t.Errorf("the status page says of waiting pods: %v", waiting)
				}
				if waited := gauge(t, a.metrics, "pods_placed_oldest_seconds"); waited <= 900 {
					t.Errorf("a pod has waited for %v seconds, by which nobody is alerted", waited)
				}
				refuses.Store(false)
				r.Deploy(sim.Workload{Name: "other", Replicas: 1, Spec: sim.Requests("10m", "10Mi")}) // which the scheduler notices
				r.until("the workload runs", r.allRun("web", 4))
				r.Scale("web", 0)
				r.Scale("other", 0)
				r.until("the machines are given back", r.nothingLeft)
			})
		})
	}
}
