package agent

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// nobodyKnows lets no owner tell how many pods it wants.
func nobodyKnows(call string, _ sim.When) error {
	if call == "Wanted" {
		return errors.New("forbidden")
	}
	return nil
}

// The window closes when no pod has come for the idle time, where the owners
// cannot tell how many are to come.
func TestBatchWindow(t *testing.T) { // ELIG-014, ELIG-016
	cases := map[string]struct {
		pods     int
		every    time.Duration
		want     time.Duration // from the first pod to the launch call
		launches int
	}{
		"a single pod waits the idle time only":          {pods: 1, want: time.Second, launches: 1},
		"seven pods every 500 ms are one batch":          {pods: 7, every: 500 * time.Millisecond, want: 4 * time.Second, launches: 1},
		"pods that keep coming wait the longest at most": {pods: 40, every: 500 * time.Millisecond, want: 10 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{LaunchTime: time.Millisecond}, func(r *rig) {
				r.Apply(testProvisioner("default"))
				r.start(Options{BatchIdle: time.Second, BatchMax: 10 * time.Second}, nobodyKnows)
				time.Sleep(5 * time.Second) // let the status settle
				began := time.Now()
				go func() {
					for i := range c.pods {
						r.Deploy(sim.Workload{Name: fmt.Sprintf("web-%02d", i), Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
						time.Sleep(c.every)
					}
				}()
				r.until("something is launched", func() bool { return len(r.Launches()) > 0 })
				if took := time.Since(began); took < c.want || took > c.want+300*time.Millisecond {
					t.Errorf("launched after %s, want about %s", took, c.want)
				}
				time.Sleep(time.Minute)
				if got := len(r.Launches()); c.launches > 0 && got != c.launches {
					t.Errorf("%d launches, want %d", got, c.launches)
				}
			})
		})
	}
}

// Once the owners have all the pods that they want, nothing more is waited for:
// neither the idle time nor the longest.
func TestBatchClosesWithItsOwners(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, SchedulerPods: 10, LaunchTime: time.Millisecond}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{BatchIdle: 5 * time.Second, BatchMax: time.Minute}, nil)
		time.Sleep(30 * time.Second) // let the status settle
		for _, replicas := range []int{1, 60, 80} {
			before := len(r.Launches())
			r.Deploy(sim.Workload{Name: "web", Replicas: replicas, Spec: sim.Requests("900m", "900Mi")})
			took := r.until("all pods are bound", func() bool { return r.count("web", bound) == replicas })
			if took > 5*time.Second {
				t.Errorf("%d pods: took %s, which is longer than the owner asks for", replicas, took)
			}
			if got := len(r.Launches()) - before; replicas > 1 && got > 2 {
				t.Errorf("%d pods: %d orders, want one purchase", replicas, got)
			}
			time.Sleep(2 * time.Minute)
		}
	})
}

// An owner that takes longer to answer than the idle time, as where the API server is
// busy with the pods that are being made, is waited for as long as pods keep coming.
func TestBatchWithSlowOwner(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 90 * time.Millisecond, SchedulerPods: 1, LaunchTime: time.Millisecond}, func(r *rig) {
		answer := make(chan struct{})
		r.Apply(testProvisioner("default"))
		r.start(Options{BatchIdle: 100 * time.Millisecond}, func(call string, when sim.When) error {
			if call == "Wanted" && when == sim.Before {
				<-answer
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 40, Spec: sim.Requests("900m", "900Mi")})
		r.until("several are refused", func() bool { return r.count("web", refused) == 6 })
		if got := len(r.Launches()); got > 0 {
			t.Errorf("%d orders before the owner has answered", got)
		}
		close(answer)
		if took := r.until("something is launched", func() bool { return len(r.Launches()) > 0 }); took > time.Second {
			t.Errorf("launched after %s, want it once the owner has answered", took)
		}
		before := len(r.Machines())
		r.until("all pods run", func() bool { return r.count("web", bound) == 40 })
		if got := len(r.Machines()); got != before {
			t.Errorf("%d machines were bought, then %d more: want one purchase", before, got-before)
		}
	})
}

func refused(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable })
}

// The scheduler takes longer for a large scale-up than the window is idle for:
// all of it is one purchase all the same.
func TestBatchWaitsForTheScheduler(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, SchedulerPods: 10}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{BatchIdle: 100 * time.Millisecond}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 60, Spec: sim.Requests("100m", "100Mi")})
		r.until("all pods run", func() bool { return r.count("web", bound) == 60 })
		if got := len(r.Launches()); got != 1 {
			t.Errorf("%d launches, want 1", got)
		}
	})
}

func limitCPU(cores string) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cores)}}
	}
}

// cores sums what was bought.
func (r *rig) cores() int64 {
	var sum int64
	sizes := map[string]int64{}
	for _, it := range stock.Catalogue() {
		sizes[it.Name] = it.Capacity[string(corev1.ResourceCPU)] / 1000
	}
	for _, m := range r.Machines() {
		sum += sizes[m.InstanceType]
	}
	return sum
}

// A burst gets what the limit allows, and never more; the rest is told why.
func TestBurstAgainstLimit(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("20")))
		r.start(Options{}, nil)
		for wave := range 4 { // the later waves come while machines are in flight
			r.Deploy(sim.Workload{Name: fmt.Sprintf("wave-%d", wave), Replicas: 50, Spec: sim.Requests("500m", "500Mi")})
			time.Sleep(700 * time.Millisecond)
		}
		r.never(5*time.Minute, "the limit is exceeded", func() bool { return r.cores() > 20 })
		if got := r.cores(); got < 16 {
			t.Errorf("bought %d cores, want close to the limit of 20", got)
		}
		if got := len(r.Events(event.Unplaceable)); got == 0 {
			t.Error("no event tells the other pods why they wait")
		}
		status := r.Provisioner("default").Status
		if status.Resources.Cpu().Value() != r.cores() || status.Nodes != int64(len(r.ours())) {
			t.Errorf("the status counts %v on %d nodes, want %d cores on %d", status.Resources, status.Nodes, r.cores(), len(r.ours()))
		}
	})
}

// An offering without capacity leads to another one in the same turn.
func TestInsufficientCapacity(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		for _, it := range stock.Catalogue() {
			for _, o := range it.Offerings {
				if it.Name != "r5.xlarge" {
					r.Capacity(it.Name, o.Zone, o.CapacityType, 0)
				}
			}
		}
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "500Mi")})
		took := r.until("all pods are bound", func() bool { return r.count("web", bound) == 2 })
		if calls := time.Duration(len(r.Launches())) * time.Second; took > calls+500*time.Millisecond {
			t.Errorf("took %s for %d launch calls of 1 s", took, len(r.Launches()))
		}
		if got := r.Machines()[0].InstanceType; got != "r5.xlarge" {
			t.Errorf("bought %s, want the only type with capacity", got)
		}
		if len(r.Events(event.LaunchFailed)) == 0 {
			t.Error("no event tells of the refusals")
		}
	})
}

// Half of an order is served; the rest of the pods are planned again at once.
func TestPartialDelivery(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large", "m5.large"} }))
		for _, zone := range stock.Zones {
			r.Capacity("c5.large", zone, api.CapacityOnDemand, 1)
		}
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 6, Spec: sim.Requests("1500m", "1Gi")})
		r.until("all pods are bound", func() bool { return r.count("web", bound) == 6 })
		if got := len(r.Machines()); got != 6 {
			t.Errorf("bought %d machines for six pods that need one each", got)
		}
	})
}

// Pods that are deleted while their machine is being bought do no harm.
func TestPodsDeletedMeanwhile(t *testing.T) {
	inBubble(t, sim.Options{LaunchTime: 5 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default", emptyAfter(10)))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 4, Spec: sim.Requests("500m", "500Mi")})
		time.Sleep(2 * time.Second) // the launch call is under way
		r.Scale("web", 0)
		r.until("a node is there", func() bool { return len(r.ours()) > 0 })
		r.until("nothing is left", r.nothingLeft)
	})
}

// A launch whose outcome is unknown buys nothing twice.
func TestLaunchOutcomeUnknown(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var lost atomic.Int32
		r.start(Options{}, func(call string, when sim.When) error {
			if call == "Launch" && when == sim.After && lost.Add(1) <= 5 {
				return errors.New("the connection was reset")
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "500Mi")})
		r.until("the workload runs", r.allRun("web", 2))
		if got := len(r.Machines()); got != 1 {
			t.Errorf("bought %d machines, want 1", got)
		}
	})
}

// Nothing is bought, and nothing goes voluntarily, before the caches are filled and the instances were listed. What
// must go does not wait.
func TestNothingBeforeAccounting(t *testing.T) { // LIFE-026
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(30)), two()).end()
		empty := r.ours()[0].Name
		r.Scale("web", 0)
		r.until("the pods are gone", func() bool { return r.count("web", anyPod) == 0 })
		r.Apply(testProvisioner("other"))
		var blind atomic.Bool
		blind.Store(true)
		r.start(Options{}, func(call string, _ sim.When) error {
			if call == "Instances" && blind.Load() {
				return errors.New("request limit exceeded")
			}
			return nil
		})
		goes := func() bool { n := r.node(empty); return n == nil || n.DeletionTimestamp != nil }
		r.never(10*time.Minute, "the empty node goes", goes)
		r.Deploy(sim.Workload{Name: "large", Replicas: 1, Spec: sim.Requests("15", "500Mi")})
		r.never(time.Minute, "something is launched", func() bool { return len(r.Launches()) > 1 })
		r.DeleteProvisioner("default")
		r.until("the node of a Provisioner that is deleted is drained", goes)
		blind.Store(false)
		r.until("the workload runs", r.allRun("large", 1))
		r.until("the node is gone", r.gone(empty))
	})
}
