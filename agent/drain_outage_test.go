package agent

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// hanging makes a call take a minute, while that is so.
func hanging(call string, while *atomic.Bool) sim.Intercept {
	return func(made string, when sim.When) error {
		if made == call && when == sim.Before && while.Load() {
			time.Sleep(time.Minute)
		}
		return nil
	}
}

// The cloud does not answer for a minute when a machine is to be terminated. The pods of other nodes are
// evicted meanwhile: a spot machine may have two minutes left.
func TestDrainWhileATerminationHangs(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var hangs atomic.Bool
		r.Apply(testProvisioner("a", emptyAfter(0)))
		r.Apply(testProvisioner("b"))
		r.start(Options{}, hanging("Terminate", &hangs))
		r.Deploy(sim.Workload{Name: "first", Replicas: 1, Spec: on("a", sim.Requests("700m", "1Gi"))})
		r.Deploy(sim.Workload{Name: "other", Replicas: 1, Spec: on("b", sim.Requests("700m", "1Gi"))})
		r.until("both run", func() bool { return r.allRun("first", 1)() && r.allRun("other", 1)() && r.allUp() })
		other := ""
		for _, n := range r.ours() {
			if r.onNode("other", n.Name) > 0 {
				other = n.Name
			}
		}
		hangs.Store(true)
		r.Scale("first", 0)
		time.Sleep(10 * time.Second) // the termination hangs
		r.DeleteNode(other)
		if took := r.until("the pod is evicted", func() bool { return r.onNode("other", other) == 0 }); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		hangs.Store(false)
		r.until("both nodes are gone", func() bool { return r.node(other) == nil && len(r.ours()) == 1 && len(r.Machines()) == 1 })
	})
}

// AWS denies the termination of many machines, one after the other, and takes long to list instances. A pod
// gets a machine all the same.
func TestPurchaseWhileTerminationsAreDenied(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var denied atomic.Bool
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }))
		r.start(Options{}, func(call string, when sim.When) error {
			switch {
			case when != sim.Before || !denied.Load():
			case call == "Terminate":
				return errors.New("access denied")
			case call == "Instances":
				time.Sleep(5 * time.Second)
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 30, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 30))
		r.until("all nodes are up", r.allUp)
		denied.Store(true)
		r.Scale("web", 0)
		for _, n := range r.ours() {
			r.DeleteNode(n.Name)
			time.Sleep(2 * time.Second)
		}
		time.Sleep(5 * time.Minute) // each termination is tried once a minute by now
		r.Deploy(sim.Workload{Name: "late", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		if took := r.until("the pod has a machine", func() bool { return r.count("late", bound) == 1 }); took > time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// An admission webhook hangs when a pod is evicted. The pods of other nodes are evicted meanwhile.
func TestDrainWhileAnEvictionHangs(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var hangs atomic.Bool
		r.Apply(testProvisioner("a"))
		r.Apply(testProvisioner("b"))
		r.start(Options{}, hanging("Evict", &hangs))
		r.Deploy(sim.Workload{Name: "first", Replicas: 1, Spec: on("a", sim.Requests("700m", "1Gi"))})
		r.Deploy(sim.Workload{Name: "other", Replicas: 1, Spec: on("b", sim.Requests("700m", "1Gi"))})
		r.until("both run", func() bool { return r.allRun("first", 1)() && r.allRun("other", 1)() && r.allUp() })
		first, other := r.ours()[0].Name, r.ours()[1].Name
		if r.onNode("first", first) == 0 {
			first, other = other, first
		}
		hangs.Store(true)
		r.DeleteNode(first)
		time.Sleep(10 * time.Second) // the eviction hangs
		hangs.Store(false)
		r.DeleteNode(other)
		if took := r.until("the pod is evicted", func() bool { return r.onNode("other", other) == 0 }); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		r.until("both nodes are gone", func() bool { return r.node(first) == nil && r.node(other) == nil })
	})
}
