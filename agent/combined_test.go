package agent

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// The tests in this file have two things go wrong at the same time.

// two is a workload that fits on one machine.
func two() sim.Workload {
	return sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")}
}

// A machine is taken back before the cloud has answered the order for it. The notice stays on the
// queue until the machine has a node.
func TestNoticeBeforeTheNodeIsMade(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", spot))
		var slow atomic.Bool
		slow.Store(true)
		process := r.Connect(func(call string, when sim.When) error {
			if call == "Launch" && when == sim.After && slow.CompareAndSwap(true, false) {
				time.Sleep(20 * time.Second)
			}
			return nil
		})
		r.startProcess(process, Options{Notices: process.Notices})
		time.Sleep(5 * time.Second)
		r.Deploy(two())
		r.until("the machine is bought", func() bool { return len(r.Machines()) == 1 })
		r.Interrupt(r.Machines()[0].ID, 1)
		if took := r.until("another is bought", func() bool { return len(r.Launches()) == 2 }); took > time.Minute {
			t.Errorf("it took %s; the machine is there for two minutes", took)
		}
		r.until("the workload runs", r.allRun("web", 2))
	})
}
