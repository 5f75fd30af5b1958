package agent

import (
	"errors"
	"path"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// heeding starts an agent that reads the queue, and serves two pods.
func (r *rig) heeding(intercept sim.Intercept) {
	r.Apply(testProvisioner("default", spot, atMost("0")))
	process := r.Connect(intercept)
	r.startProcess(process, Options{Notices: process.Notices})
	r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
	r.until("the workload runs", r.allRun("web", 2))
	r.until("all nodes are up", r.allUp)
}

func spot(s *api.ProvisionerSpec) {
	s.Requirements = append(s.Requirements, api.Requirement{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacitySpot}})
}

// AWS-063, DISR-007: the pods of a machine that is taken back run elsewhere before it ends, whatever budgets
// allow, and the same offering is not bought again.
func TestInterruption(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.heeding(nil)
		old, machine := r.ours()[0].Name, r.Machines()[0]
		r.Interrupt(machine.ID, 2)
		r.until("the replacement is bought", func() bool { return len(r.Launches()) == 2 })
		if n := r.node(old); n == nil || !n.Spec.Unschedulable {
			t.Error("the node is not cordoned while its pods leave")
		}
		took := r.until("the workload runs", func() bool { return r.node(old) == nil && r.allRun("web", 2)() })
		if took > 2*time.Minute {
			t.Errorf("it took %s, the machine is there for two minutes", took)
		}
		r.until("the notices are acknowledged", func() bool { return r.Notices() == 0 })
		next := r.Machines()[0]
		if next.InstanceType == machine.InstanceType && next.Zone == machine.Zone {
			t.Errorf("%s in %s was bought again", next.InstanceType, next.Zone)
		}
		if events := r.Events(event.Interrupted); len(events) != 1 || events[0].Name != old {
			t.Errorf("events %+v, want one about the node", events)
		}
	})
}

// If only one offering is allowed, it is bought again soon after an interruption, and at once after a mere
// recommendation.
func TestInterruptionOfTheOnlyOffering(t *testing.T) {
	for kind, most := range map[offer.NoticeKind]time.Duration{offer.NoticeSpotInterruption: 5 * time.Minute, offer.NoticeRebalance: 2 * time.Minute} {
		t.Run(string(kind), func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", spot, func(s *api.ProvisionerSpec) {
					s.InstanceTypes = []string{"m5.large"}
					s.Requirements = append(s.Requirements, api.Requirement{Key: api.LabelZone, Operator: api.OpIn, Values: []string{"sim-1a"}})
				}))
				process := r.Connect(nil)
				r.startProcess(process, Options{Notices: process.Notices})
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
				r.until("the workload runs", r.allRun("web", 1))
				r.until("all nodes are up", r.allUp)
				old := r.ours()[0].Name
				r.Notify(offer.Notice{Kind: kind, InstanceIDs: []string{r.Machines()[0].ID}}, 1)
				if took := r.until("the workload runs", func() bool { return r.node(old) == nil && r.allRun("web", 1)() }); took > most {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// A notice stays on the queue until what it calls for is recorded in the cluster.
func TestNoticeIsKeptUntilRecorded(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var broken atomic.Bool
		r.heeding(func(call string, _ sim.When) error {
			if call == "DeleteNode" && broken.Load() {
				return errors.New("the API server is away")
			}
			return nil
		})
		broken.Store(true)
		r.Notify(offer.Notice{Kind: offer.NoticeScheduledChange, InstanceIDs: []string{r.Machines()[0].ID}}, 1)
		r.never(time.Minute, "the notice is acknowledged", func() bool { return r.Notices() == 0 })
		broken.Store(false)
		r.until("the notice is acknowledged", func() bool { return r.Notices() == 0 })
		if r.ours()[0].DeletionTimestamp == nil {
			t.Error("it was acknowledged before the node was deleted")
		}
	})
}

// AWS-072: notices that cannot be read, or are about others' machines, do no harm.
func TestNoticesOfNoConcern(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.heeding(nil)
		for _, n := range []offer.Notice{
			{Kind: offer.NoticeMalformed, Problem: "no JSON"},
			{Kind: offer.NoticeUnrelated, Problem: "about something else"},
			{Kind: offer.NoticeSpotInterruption, InstanceIDs: []string{"i-of-others"}},
		} {
			r.Notify(n, 2)
		}
		r.until("all are acknowledged", func() bool { return r.Notices() == 0 })
		r.never(5*time.Minute, "a node goes", func() bool { return len(r.ours()) != 1 || r.ours()[0].DeletionTimestamp != nil })
	})
}

// Nodes of a Karpenter that runs beside the agent have the same finalizer. Its machines are its own business.
func TestNoticesAboutNodesOfKarpenter(t *testing.T) {
	for _, kind := range []offer.NoticeKind{offer.NoticeRebalance, offer.NoticeSpotInterruption} {
		t.Run(string(kind), func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.heeding(nil)
				theirs := r.LaunchByKarpenter(sim.Claimed{Pool: "general", Candidate: karpenterBuys})
				id := path.Base(r.node(theirs).Spec.ProviderID)
				r.Notify(offer.Notice{Kind: kind, InstanceIDs: []string{id}}, 1)
				r.until("the notice is acknowledged", func() bool { return r.Notices() == 0 })
				r.never(5*time.Minute, "the node of Karpenter goes", func() bool { return r.node(theirs) == nil || r.node(theirs).DeletionTimestamp != nil })
			})
		})
	}
}

// What a kubelet lacks is learnt: the pods that it refuses run elsewhere, and the
// next machines are planned with the right figure.
func TestShortfallIsLearnt(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Shortfall("c5.large", amount.List{amount.Memory: 1 << 30})
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("100m", "1150Mi")}) // three fit by the catalogue
		refused := func(p *corev1.Pod) bool { return p.Status.Reason == "OutOfmemory" }
		r.until("a pod is refused", func() bool { return r.count("web", refused) == 1 })
		r.until("the workload runs", func() bool { return r.count("web", isRunning) == 3 })
		if got := len(r.Machines()); got != 2 {
			t.Errorf("%d machines, want one more for the pod that was refused", got)
		}
		r.Scale("web", 7)
		r.until("the workload runs", func() bool { return r.count("web", isRunning) == 7 })
		if got := len(r.Machines()); got != 4 {
			t.Errorf("%d machines for 7 pods of which two fit each", got)
		}
	})
}

// A device plugin that announces fewer devices than the type promises, as on Trainium2 with its logical cores, must not
// make the agent buy the same machine again and again. One broken device does not count against the type.
func TestDevicesThatAreMissingAreLearnt(t *testing.T) {
	const gpu = "nvidia.com/gpu"
	types := stock.Catalogue()
	for i := range types {
		types[i].Capacity = types[i].Capacity.Plus(amount.List{gpu: 8})
	}
	inBubble(t, sim.Options{Types: types}, func(r *rig) {
		r.Shortfall("c5.large", amount.List{gpu: 4})
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.InstanceTypes, s.TTLSecondsAfterEmpty = []string{"c5.large"}, new(int64(60))
		}))
		r.start(Options{}, nil)
		spec := sim.Requests("100m", "100Mi")
		spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("8")
		r.Deploy(sim.Workload{Name: "train", Replicas: 1, Spec: spec})
		time.Sleep(24 * time.Hour)
		before := len(r.Launches())
		if before > 3 {
			t.Errorf("%d launches in a day, want at most 3: the second machine shows that the first is no exception, and a third may be on its way", before)
		}
		r.Shortfall("c5.large", nil)
		spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("4")
		r.Deploy(sim.Workload{Name: "small", Replicas: 1, Spec: spec})
		r.until("both run: the better machine corrects what was learnt", func() bool {
			return r.count("small", isRunning) == 1 && r.count("train", isRunning) == 1
		})
		if got := len(r.Launches()); got != before+2 {
			t.Errorf("%d launches, want one more for each workload", got-before)
		}
	})
}
