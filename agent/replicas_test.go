package agent

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A controller makes three pods at a time. Machines for all are bought when the
// scheduler has refused the first of them, and cost what one purchase for all costs.
// Where the owner may not get to make them, nothing is bought for those that are to come.
func TestExpectedReplicas(t *testing.T) {
	grow := func(t *testing.T, made int, doubtful bool) (took time.Duration, launches int, total offer.Price) {
		inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, ControllerPods: made, LaunchTime: time.Millisecond}, func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.start(Options{}, nil)
			time.Sleep(30 * time.Second) // let the status settle
			r.Deploy(sim.Workload{Name: "web", Replicas: 60, Doubtful: doubtful, Spec: sim.Requests("900m", "900Mi")})
			took = r.until("it is bought", func() bool { return len(r.Launches()) > 0 })
			r.until("the workload runs", r.allRun("web", 60))
			launches = len(r.Launches())
			for _, n := range r.ours() {
				total += offer.PriceOf(n.Annotations)
			}
			for _, e := range append(r.Events(event.Nominated), r.Events(event.Unplaceable)...) {
				if batch.IsExpected(cluster.PodKey{UID: e.UID}) {
					t.Errorf("an event is about a pod that does not exist: %+v", e)
				}
			}
		})
		return took, launches, total
	}
	_, orders, price := grow(t, 0, false)
	took, launches, total := grow(t, 3, false)
	if took > 400*time.Millisecond || launches != orders || total != price {
		t.Errorf("took %s, %d orders, $%.4f per hour; want 300 ms, %d orders, $%.4f", took, launches, total.Dollars(), orders, price.Dollars())
	}
	if _, launches, _ := grow(t, 3, true); launches < 10 {
		t.Errorf("in doubt, all was bought in %d orders, which is ahead of the pods", launches)
	}
}

// Machines are ahead of the pods that they are for: these find them, and what was
// bought for pods that never come goes as empty.
func TestExpectedReplicasThatNeverCome(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, ControllerPods: 3, LaunchTime: time.Millisecond}, func(r *rig) {
		r.Apply(testProvisioner("default", emptyAfter(30)))
		r.start(Options{}, nil)
		time.Sleep(30 * time.Second)
		r.Deploy(sim.Workload{Name: "web", Replicas: 60, Spec: sim.Requests("900m", "900Mi")})
		r.until("it is bought", func() bool { return len(r.Machines()) > 0 })
		r.Scale("web", 3)
		r.until("the workload runs", r.allRun("web", 3))
		bought := len(r.Launches())
		r.until("only what is needed is left", func() bool { return r.cores() <= 10 })
		if got := len(r.Launches()); got != bought {
			t.Errorf("%d more orders for pods that nobody wants", got-bought)
		}
	})
}

// The scheduler takes 1.8 s for the pods. Once it has refused the first of them,
// machines for all are bought; each pod is bound once it was refused, too.
func TestPresumedUnschedulablePods(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, SchedulerPods: 10}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		time.Sleep(30 * time.Second) // let the status settle
		r.Deploy(sim.Workload{Name: "web", Replicas: 60, Spec: sim.Requests("100m", "100Mi")})
		// 300 ms to make the pods, 300 ms to look at ten, 1 s for the launch call.
		if took := r.until("it is bought", func() bool { return len(r.Launches()) > 0 }); took > 1700*time.Millisecond {
			t.Errorf("took %s", took)
		}
		r.until("the workload runs", r.allRun("web", 60))
		if got := len(r.Launches()); got != 1 {
			t.Errorf("%d launches, want 1", got)
		}
	})
}
