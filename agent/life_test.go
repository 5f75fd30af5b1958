package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// served starts an agent and waits until the workload runs on initialized nodes.
func (r *rig) served(p *api.Provisioner, load sim.Workload) *running {
	r.Helper()
	r.Apply(p)
	a := r.start(Options{}, nil)
	r.Deploy(load)
	r.until("the workload runs", r.allRun(load.Name, load.Replicas))
	r.until("all nodes are up", r.allUp)
	return a
}

func (r *rig) allUp() bool {
	for _, n := range r.ours() {
		if n.Labels[api.LabelInitialized] != "true" {
			return false
		}
	}
	return true
}

func (r *rig) nothingLeft() bool { return len(r.ours()) == 0 && len(r.Machines()) == 0 }

func TestEmptinessAfterTTL(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.DaemonSet("logs", sim.Requests("50m", "50Mi"))
		r.served(testProvisioner("default", emptyAfter(30)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.Scale("web", 0)
		took := r.until("nothing is left", r.nothingLeft)
		if took < 30*time.Second || took > 40*time.Second {
			t.Errorf("the empty node went after %s, want 30 s and a little", took)
		}
	})
}

// Whether pods ran on a node while no agent led is not known, so that it stays for the whole time again.
func TestEmptinessAfterAnOutage(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		a := r.served(testProvisioner("default", emptyAfter(3600)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.Scale("web", 0)
		r.until("the node is empty", func() bool { return r.ours()[0].Annotations[api.AnnotationEmptiness] != "" })
		a.end()
		time.Sleep(24 * time.Hour)
		r.start(Options{}, nil)
		r.never(59*time.Minute, "the node goes too soon", r.nothingLeft)
		r.until("nothing is left", r.nothingLeft)
	})
}

func TestEmptinessAtOnce(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(0)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.Scale("web", 0)
		if took := r.until("nothing is left", r.nothingLeft); took > drain.BalancerPatience+6*time.Second {
			t.Errorf("the empty node went after %s, want at once, after the time for load balancers", took)
		}
	})
}

// Of ten empty nodes, as many go at a time as the budget allows, until all have gone.
func TestEmptinessWithinABudget(t *testing.T) { // DISR-012
	inBubble(t, sim.Options{}, func(r *rig) {
		large := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }
		r.served(testProvisioner("default", emptyAfter(0), atMost("3"), large), sim.Workload{Name: "web", Replicas: 10, Spec: sim.Requests("1500m", "1Gi")})
		r.Scale("web", 0)
		most := 0
		r.until("nothing is left", func() bool {
			going := 0
			for _, n := range r.ours() {
				if n.DeletionTimestamp != nil {
					going++
				}
			}
			most = max(most, going)
			return r.nothingLeft()
		})
		if most != 3 {
			t.Errorf("%d nodes go at a time, want 3", most)
		}
	})
}

// An agent whose clock was ahead when it began to lead, and has been set right since, marks an empty node once.
func TestEmptinessWithAClockSetBack(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		patches := 0
		r.Apply(testProvisioner("default", emptyAfter(30)))
		a := r.start(Options{}, func(call string, when sim.When) error {
			if call == "PatchNode" && when == sim.Before {
				patches++
			}
			return nil
		})
		time.Sleep(time.Second)
		synctest.Wait() // the agent has written the field
		a.began = a.began.Add(30 * time.Minute)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.until("the workload runs", r.allRun("web", 2))
		before := patches
		r.Scale("web", 0)
		if took := r.until("nothing is left", r.nothingLeft); took > 40*time.Second {
			t.Errorf("the empty node went after %s, want 30 s and a little", took)
		}
		if patched := patches - before; patched > 5 {
			t.Errorf("%d patches of one node that is empty", patched)
		}
	})
}

// A mark from far in the future does not keep an empty node until then.
func TestEmptinessInTheFuture(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(30)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.EditNode(r.ours()[0].Name, func(n *corev1.Node) {
			n.Annotations[api.AnnotationEmptiness] = time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
		})
		r.Scale("web", 0)
		if took := r.until("nothing is left", r.nothingLeft); took > 40*time.Second {
			t.Errorf("the empty node went after %s, want 30 s and a little", took)
		}
	})
}

func TestEmptinessNotSet(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1", "1Gi")})
		r.Scale("web", 0)
		r.never(2*time.Hour, "the empty node goes", r.nothingLeft)
	})
}

// A pod that comes while the node counts as empty takes the mark away.
func TestEmptinessEnds(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(30)), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("1", "1Gi")})
		marked := func() bool { return len(r.ours()) == 1 && r.ours()[0].Annotations[api.AnnotationEmptiness] != "" }
		r.Scale("web", 0)
		r.until("the node is marked", marked)
		r.Scale("web", 1)
		r.until("the mark is gone", func() bool { return !marked() })
		r.never(time.Minute, "the node goes", r.nothingLeft)
	})
}

// An expired node goes only when its replacement is up, so that the pods move at once.
func TestExpiryReplacesFirst(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(600), emptyAfter(30)),
			sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		old := r.ours()[0].Name
		r.until("a replacement is there", func() bool { return len(r.ours()) == 2 })
		exists := func() bool {
			for _, n := range r.ours() {
				if n.Name == old {
					return true
				}
			}
			return false
		}
		for exists() {
			if running := r.count("web", isRunning); running < 2 && !r.allUp() {
				t.Fatalf("%d pods run while the replacement is not up\n%s", running, r.describe())
			}
			time.Sleep(50 * time.Millisecond)
		}
		r.until("the workload runs", r.allRun("web", 2))
		if got := len(r.ours()); got != 1 {
			t.Errorf("%d nodes are left, want the replacement alone", got)
		}
	})
}

// While EC2 refuses to terminate machines, budgets hold: what is replaced is still paid for. After an hour, one machine
// that is refused does not count any more, and the next one does.
func TestExpiryWhileTerminationsAreRefused(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", expireAfter(3600)))
		var refused atomic.Bool
		refused.Store(true)
		r.start(Options{}, failing("Terminate", &refused, "UnauthorizedOperation"))
		r.Deploy(sim.Workload{Name: "web", Replicas: 40, Spec: sim.Requests("700m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 40))
		before := len(r.Machines())
		r.never(time.Hour, "more than one machine is replaced", func() bool { return len(r.Machines()) > before+1 })
		r.never(5*time.Hour, "more than two machines are replaced", func() bool { return len(r.Machines()) > before+2 })
		refused.Store(false)
		r.until("the replaced machine is gone, and the next one is replaced", func() bool { return len(r.Events(event.Terminated)) > 1 })
	})
}

// An expired node whose replacement cannot be bought stays.
func TestExpiryKeepsWithoutReplacement(t *testing.T) { // DEPROV-032
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(300)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		for _, it := range stock.Catalogue() {
			for _, o := range it.Offerings {
				r.Capacity(it.Name, o.Zone, o.CapacityType, 0)
			}
		}
		r.never(20*time.Minute, "a pod is disturbed", func() bool { return r.count("web", isRunning) != 2 })
		if got := len(r.ours()); got != 1 {
			t.Errorf("%d nodes, want the old one", got)
		}
	})
}

// A machine that never comes up is replaced, with another offering.
func TestNeverUp(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var dud offer.Instance
		r.NeverBoots(func(i offer.Instance) bool {
			if dud.ID == "" {
				dud = i
			}
			return i.ID == dud.ID
		})
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		took := r.until("the workload runs", r.allRun("web", 2))
		if took < 15*time.Minute || took > 17*time.Minute {
			t.Errorf("it took %s, want the startup timeout of 15 min and a boot", took)
		}
		r.until("the dud is gone", func() bool { return len(r.Machines()) == 1 && len(r.ours()) == 1 })
		if told := r.Events(event.NeverRegistered); len(told) != 1 || told[0].Message != "not ready 15m after it was launched: its kubelet has never reported" {
			t.Errorf("events %s: %v", event.NeverRegistered, told)
		}
		second := r.Machines()[0]
		if second.InstanceType == dud.InstanceType && second.Zone == dud.Zone {
			t.Errorf("the offering %s in %s was bought again", dud.InstanceType, dud.Zone)
		}
	})
}

// The kubelet of a machine says why it does not become ready, and the event quotes it.
func TestNeverUpSaysWhy(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		const why = "container runtime network not ready: cni plugin not initialized"
		r.Apply(testProvisioner("default"))
		r.NeverBoots(func(offer.Instance) bool { return true })
		r.start(Options{}, nil)
		r.Deploy(two())
		r.until("a node is there", func() bool { return len(r.ours()) > 0 })
		r.EditNode(r.ours()[0].Name, func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: why,
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}}
		})
		r.until("it is given up", func() bool { return len(r.Events(event.NeverRegistered)) > 0 })
		if told := r.Events(event.NeverRegistered)[0].Message; told != "not ready 15m after it was launched: "+why {
			t.Errorf("the event says: %s", told)
		}
	})
}

// Pods that nobody makes again, and those of Jobs, which count deleted pods as failures, outlive a machine that
// does not come up.
func TestNeverUpEndsNoPodForGood(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		dud := ""
		r.NeverBoots(func(i offer.Instance) bool {
			dud = cmp.Or(dud, i.ID)
			return i.ID == dud
		})
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "job", Replicas: 1, Job: 10 * time.Hour, Spec: sim.Requests("700m", "1Gi")})
		lone := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "lone", Labels: map[string]string{"app": "lone"}}, Spec: sim.Requests("700m", "1Gi")}
		lone.Status.Phase = corev1.PodPending
		r.AddPod(&lone)
		r.until("a machine is ordered", func() bool { return dud != "" })
		before := map[types.UID]bool{}
		for _, p := range r.Pods() {
			before[p.UID] = true
		}
		r.until("the dud is gone", func() bool { return len(r.Events(event.NeverRegistered)) == 1 && len(r.ours()) == 1 })
		r.until("both run", func() bool { return r.count("job", isRunning) == 1 && r.count("lone", isRunning) == 1 })
		for _, p := range r.Pods() {
			if !before[p.UID] {
				t.Errorf("pod %s was deleted and made again", p.Name)
			}
		}
	})
}

// Machines of one Provisioner that do not come up, as with bad user data, say nothing about those of others. A
// machine that the cloud takes back does.
func TestFailedMachinesConcernTheirProvisioner(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		for _, name := range []string{"broken", "sound", "late"} {
			r.Apply(testProvisioner(name, spot))
		}
		r.NeverBoots(func(i offer.Instance) bool { return i.Provisioner == "broken" })
		process := r.Connect(nil)
		r.startProcess(process, Options{Notices: process.Notices})
		bought := func(provisioner string) offer.Candidate {
			r.Deploy(sim.Workload{Name: provisioner, Replicas: 1, Spec: on(provisioner, sim.Requests("700m", "1Gi"))})
			r.until("the machine is bought", func() bool { return r.count(provisioner, bound) == 1 })
			all := r.Launches()
			return all[len(all)-1].Candidates[0]
		}
		failed := bought("broken")
		r.until("the machine is replaced", func() bool { return len(r.Launches()) == 2 })
		if again := r.Launches()[1].Candidates[0]; again == failed {
			t.Errorf("%v was bought again", failed)
		}
		if other := bought("sound"); other != failed {
			t.Errorf("another Provisioner bought %v instead of %v", other, failed)
		}
		at := slices.IndexFunc(r.Machines(), func(i offer.Instance) bool { return i.Provisioner == "sound" })
		r.Interrupt(r.Machines()[at].ID, 1)
		r.until("the machine is replaced", func() bool { return len(r.Launches()) == 4 })
		if other := bought("late"); other == failed {
			t.Errorf("%v was bought although the cloud takes it back", other)
		}
	})
}

// A node whose instance is gone is let go, and its pods run elsewhere.
func TestInstanceGone(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		time.Sleep(2 * time.Minute)
		old := r.ours()[0]
		r.TerminateInstance(r.Machines()[0].ID)
		r.until("the node is let go", func() bool { return len(r.ours()) == 0 || r.ours()[0].Name != old.Name })
		r.until("the workload runs", r.allRun("web", 2))
	})
}

// Machines that end before they are up, such as those whose volumes cannot be decrypted, are not bought
// again and again.
func TestMachinesThatEndAtOnce(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		a := r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		r.never(2*time.Hour, "machines are bought without a pause", func() bool {
			for _, m := range r.Machines() {
				r.TerminateInstance(m.ID)
			}
			return len(r.Launches()) > 12
		})
		if got := len(r.Launches()); got < 5 {
			t.Errorf("%d launches in two hours: it is not tried again", got)
		}
		if got := gauge(t, a.metrics, "disruptions_total", "default", "never-up"); got < 5 {
			t.Errorf("%v are counted as machines that did not come up", got)
		}
		r.until("the workload runs", r.allRun("web", 2))
	})
}

// If only spot machines end before they are up, as where EC2's role for them may not use the key of their
// volumes, on-demand machines are bought, and pods that need these do not wait for the others.
func TestSpotMachinesThatEndAtOnce(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.Requirements = []api.Requirement{{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacitySpot, api.CapacityOnDemand}}}
		}))
		r.start(Options{}, nil)
		ending := func(condition func() bool) func() bool {
			return func() bool {
				for _, m := range r.Machines() {
					if m.CapacityType == api.CapacitySpot {
						r.TerminateInstance(m.ID)
					}
				}
				return condition()
			}
		}
		wanting := func(capacityType string) corev1.PodSpec {
			spec := sim.Requests("1500m", "1Gi")
			spec.NodeSelector = map[string]string{api.LabelCapacityType: capacityType}
			return spec
		}
		r.Deploy(sim.Workload{Name: "spot", Replicas: 1, Spec: wanting(api.CapacitySpot)})
		r.until("spot machines have ended", ending(func() bool { return len(r.Launches()) == 4 && len(r.ours()) == 0 }))
		r.Deploy(sim.Workload{Name: "on-demand", Replicas: 1, Spec: wanting(api.CapacityOnDemand)})
		if took := r.until("the workload that needs on-demand machines runs", ending(r.allRun("on-demand", 1))); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
		r.Deploy(sim.Workload{Name: "any", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		if took := r.until("the workload that can be anywhere runs", ending(r.allRun("any", 1))); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// The same if they have ended before EC2 has told their names, so that they never have Node objects.
func TestSpotMachinesThatEndBeforeTheyHaveANode(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.Requirements = []api.Requirement{{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{api.CapacitySpot, api.CapacityOnDemand}}}
		}))
		var ended atomic.Int64
		r.retail(func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error) {
			first := o.Candidates[0]
			if first.CapacityType != api.CapacitySpot {
				return c.Launch(ctx, o)
			}
			ended.Add(1)
			return offer.Delivery{Refusals: []offer.Refusal{{Candidate: first, Reason: offer.RefusedEnded, Message: "i-1 ended right after its launch"}}}, pace.Sleep(ctx, time.Second)
		})
		r.Deploy(sim.Workload{Name: "any", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		if took := r.until("the workload runs", r.allRun("any", 1)); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
		if got := ended.Load(); got < 2 || got > 3 {
			t.Errorf("%d spot machines were bought, want two or three", got)
		}
	})
}

// Machines that never come up, as with user data that is wrong, are paid for until they are given up. They are bought
// less and less often, until the Provisioner or its node profile is mended.
func TestMachinesThatNeverComeUp(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.NeverBoots(func(offer.Instance) bool { return true })
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		time.Sleep(12 * time.Hour)
		zones := map[string]bool{}
		for _, l := range r.Launches() {
			zones[l.Candidates[0].Zone] = true
		}
		if got := len(r.Launches()); got > 11*len(zones) || len(zones) < 2 {
			t.Errorf("%d machines were bought in half a day, in %d zones", got, len(zones))
		}
		r.until("the last machine is given up", func() bool { return len(r.Machines()) == 0 })
		r.NeverBoots(nil)
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"mended": "yes"} }))
		if took := r.until("the workload runs", r.allRun("web", 1)); took > 3*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// Whatever kept machines from coming up has passed, such as an outage of the registry. Pods do not wait for long.
func TestMachinesComeUpAgain(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.NeverBoots(func(offer.Instance) bool { return true })
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		time.Sleep(6 * time.Hour)
		r.NeverBoots(nil)
		if took := r.until("the workload runs", r.allRun("web", 1)); took > time.Hour+17*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// Nor are replacements of drifted nodes bought again and again, while the nodes and their pods run on.
func TestReplacementsThatNeverComeUp(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		old := r.ours()[0].Name
		r.NeverBoots(func(offer.Instance) bool { return true })
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"broken": "yes"} }))
		time.Sleep(12 * time.Hour)
		zones := map[string]bool{}
		for _, l := range r.Launches()[1:] {
			zones[l.Candidates[0].Zone] = true
		}
		if got := len(r.Launches()) - 1; got > 11*len(zones) || got < 2 {
			t.Errorf("%d machines were bought in half a day, in %d zones", got, len(zones))
		}
		if r.node(old) == nil || !r.allRun("web", 1)() {
			t.Error("the workload does not run on its node")
		}
	})
}

// A change of which no machine comes up costs one machine at a time, whatever the budgets allow. Once one
// comes up, the others follow together.
func TestBrokenChangeCostsOneMachineAtATime(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		budget := func(s *api.ProvisionerSpec) { s.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: "100%"}}} }
		changed := func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"revision": "2"} }
		pods := sim.Workload{Name: "web", Replicas: 5, Spec: sim.Requests("700m", "1Gi")}
		pods.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}} // each needs a node
		r.served(testProvisioner("default", budget), pods)
		old := len(r.ours())
		r.NeverBoots(func(offer.Instance) bool { return true })
		r.Apply(testProvisioner("default", budget, changed))
		staying := func() int {
			return len(slices.DeleteFunc(r.ours(), func(n *corev1.Node) bool { return n.DeletionTimestamp != nil }))
		}
		r.never(3*time.Hour, "several machines are tried", func() bool { return staying() > old+1 })
		if len(r.Launches()) == old {
			t.Fatal("no machine was tried")
		}
		r.NeverBoots(nil)
		most := 0
		r.until("the nodes are replaced", func() bool {
			most = max(most, len(r.ours())-old)
			return !slices.ContainsFunc(r.ours(), func(n *corev1.Node) bool { return n.Labels["revision"] != "2" })
		})
		if most < 2 || !r.allRun("web", 5)() {
			t.Errorf("%d nodes were replaced at the same time", most)
		}
	})
}

// Where machines do not come up in the cheapest zone, pods that may be elsewhere get machines there.
func TestMachinesThatNeverComeUpInAZone(t *testing.T) {
	catalogue := stock.Catalogue()
	for i := range catalogue {
		for k := range catalogue[i].Offerings {
			if o := &catalogue[i].Offerings[k]; o.Zone == "sim-1b" {
				o.Price /= 3
			}
		}
	}
	inBubble(t, sim.Options{Types: catalogue}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.NeverBoots(func(i offer.Instance) bool { return i.Zone == "sim-1b" })
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		if took := r.until("the workload runs", r.allRun("web", 1)); took > 33*time.Minute {
			t.Errorf("it took %s, want that of two machines that do not come up", took)
		}
	})
}

// What other programs bought, and the nodes that they manage, are left alone.
func TestOthersAreLeftAlone(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", emptyAfter(10)))
		other := r.Connect(nil).Cloud
		order := offer.Order{Provisioner: "default", Count: 1, Candidates: []offer.Candidate{{InstanceType: "c5.large", Zone: "sim-1a", CapacityType: api.CapacityOnDemand}}}
		if _, err := other.Launch(r.Context(), order); err != nil { // without a launch id
			t.Fatal(err)
		}
		r.AddNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: "foreign", Labels: map[string]string{api.LabelProvisioner: "default", api.LabelInitialized: "true"},
				Annotations: map[string]string{api.AnnotationDisruption: "drifted", api.AnnotationDoNotDisrupt: "true"},
				Finalizers:  []string{api.Finalizer},
			},
			Spec: corev1.NodeSpec{ProviderID: "aws:///sim-1a/i-foreign"},
		})
		r.start(Options{}, nil)
		r.never(time.Hour, "something of another program's goes", func() bool {
			return len(r.Machines()) != 1 || r.node("foreign") == nil || r.node("foreign").DeletionTimestamp != nil
		})
	})
}

// A node that must stay although it is too old says why.
func TestKeptNodeSaysWhy(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(300)), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		r.stray("precious", r.ours()[0].Name, func(p *corev1.Pod) {
			p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
		})
		r.until("the node says why it stays", func() bool { return len(r.Events(event.Kept)) > 0 })
		if e := r.Events(event.Kept)[0]; e.Name != r.ours()[0].Name || !strings.Contains(e.Message, "precious") {
			t.Errorf("event %+v, want one on the node that names the pod", e)
		}
		r.never(event.RepeatAfter-time.Minute, "the node goes, or says it again and again", func() bool {
			return len(r.ours()) != 1 || len(r.Events(event.Kept)) > 1
		})
		if r.until("the node says it again", func() bool { return len(r.Events(event.Kept)) > 1 }) > 2*time.Minute {
			t.Error("it says it again after the API server may have forgotten it")
		}
	})
}

// A node whose replacement is lost before it is up is kept until there is another.
func TestLostReplacement(t *testing.T) {
	inBubble(t, sim.Options{BootTime: 130 * time.Second}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(600)), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		old := r.ours()[0].Name
		r.until("a replacement is there", func() bool { return len(r.ours()) == 2 })
		time.Sleep(2 * offer.ListingLag) // a younger node is made again
		for _, n := range r.ours() {
			if n.Name != old {
				r.DeleteNode(n.Name)
			}
		}
		r.until("the node is kept", func() bool { return len(r.Events(event.Kept)) > 0 })
		r.until("it is replaced after all", r.gone(old))
		r.until("the workload runs", r.allRun("web", 1))
	})
}
