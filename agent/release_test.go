package agent

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// When many Provisioners lose their last nodes at the same time, pods do not wait until what was made for those
// is removed.
func TestPlanningDoesNotWaitForEmptiedProvisioners(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		const n = 20
		name := func(i int) string { return fmt.Sprintf("team-%02d", i) }
		var asked atomic.Int64
		r.start(Options{}, func(call string, when sim.When) error {
			if call == "Forget" && when == sim.Before { // it takes five seconds to remove what was made for a Provisioner
				asked.Add(1)
				time.Sleep(5 * time.Second)
			}
			return nil
		})
		for i := range n {
			r.Apply(testProvisioner(name(i)))
			r.Deploy(sim.Workload{Name: name(i), Replicas: 1, Spec: on(name(i), sim.Requests("500m", "1Gi"))})
		}
		r.until("all nodes are up", func() bool { return len(r.ours()) == n && r.allUp() })
		for i := range n {
			r.Undeploy(name(i))
		}
		for _, node := range r.ours() {
			r.DeleteNode(node.Name)
		}
		r.until("the last nodes are gone", func() bool { return len(r.ours()) == 0 && asked.Load() > 0 })
		last := name(n - 1)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: on(last, sim.Requests("500m", "1Gi"))})
		if took := r.until("a machine is bought", func() bool { return len(r.Launches()) > n }); took > 10*time.Second {
			t.Errorf("a pod waited %s", took)
		}
		r.until("Provisioners without nodes are let go", func() bool {
			for i := range n {
				if slices.Contains(r.Provisioner(name(i)).Finalizers, api.Finalizer) != (i == n-1) {
					return false
				}
			}
			return true
		})
		if templates := r.LaunchTemplates(); !slices.Equal(templates, []string{last}) {
			t.Errorf("there are launch templates of %v", templates)
		}
	})
}
