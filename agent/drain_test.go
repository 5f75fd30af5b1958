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

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// node returns a node by its name, or nil.
func (r *rig) node(name string) *corev1.Node {
	i := slices.IndexFunc(r.Nodes(), func(n *corev1.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return r.Nodes()[i]
}

func (r *rig) gone(name string) func() bool { return func() bool { return r.node(name) == nil } }

// stray adds a pod that runs on a node.
func (r *rig) stray(name, node string, edits ...func(*corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: sim.Requests("10m", "10Mi")}
	p.Spec.NodeName = node
	for _, e := range edits {
		e(p)
	}
	r.AddPod(p)
}

// A deleted node is closed, drained, given back, and only then gone.
func TestDrain(t *testing.T) { // TERM-004, TERM-006, TERM-011, DISR-007
	inBubble(t, sim.Options{StopTime: 10 * time.Second}, func(r *rig) {
		r.served(testProvisioner("default", atMost("0")), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("500m", "500Mi")})
		old, machine := r.ours()[0].Name, r.Machines()[0].ID
		r.stray("ownerless", old)
		time.Sleep(time.Second)
		r.DeleteNode(old)
		time.Sleep(5 * time.Second) // the pods are stopping
		n := r.node(old)
		if n == nil {
			t.Fatal("the node went before its pods")
		}
		if !n.Spec.Unschedulable || n.Labels[drain.ExcludeFromBalancers] == "" ||
			!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintDisruption }) {
			t.Errorf("the draining node is not closed: %v %v %v", n.Spec.Unschedulable, n.Labels, n.Spec.Taints)
		}
		if got := r.Machines()[0].ID; got != machine {
			t.Error("the machine went before its pods")
		}
		r.until("the node is gone", r.gone(old))
		if r.count("ownerless", anyPod) != 0 {
			t.Error("the pod without an owner was left behind")
		}
		r.until("the workload runs", r.allRun("web", 2))
		if got := len(r.Machines()); got != 1 {
			t.Errorf("%d machines, want one for the pods that moved", got)
		}
		for _, reason := range []string{event.Draining, event.Terminated} {
			if got := len(r.Events(reason)); got != 1 {
				t.Errorf("%d events %s, want 1", got, reason)
			}
		}
	})
}

// A disruption budget is waited for, by name, and does not hold up other pods.
func TestDrainWaitsForBudget(t *testing.T) { // TERM-008, TERM-018
	inBubble(t, sim.Options{}, func(r *rig) {
		a := r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("300m", "300Mi")})
		r.Deploy(sim.Workload{Name: "other", Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
		r.until("the other workload runs", r.allRun("other", 1))
		r.Protect(sim.Budget{Name: "web-budget", Selector: map[string]string{"app": "web"}, MinAvailable: 2})
		old := r.ours()[0].Name
		r.DeleteNode(old)
		r.until("the other pod has moved", func() bool { return r.onNode("other", old) == 0 })
		r.never(5*time.Minute, "a protected pod is evicted", func() bool { return r.onNode("web", old) != 2 || r.node(old) == nil })
		blocked := r.Events(event.EvictionBlocked)
		if len(blocked) != 4 || !strings.Contains(blocked[0].Message, "default/web-budget") {
			t.Errorf("the node and its two pods have the events %v, want one that names the budget for each pod on both", blocked)
		}
		if got := gauge(t, a.metrics, "drain_held_up_seconds", "default", string(drain.HeldByBudget)); got < 290 || got > 330 {
			t.Errorf("the drain is held up for %v s", got)
		}
		r.Protect(sim.Budget{Name: "web-budget", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
		r.until("the node is gone", r.gone(old))
		r.until("the workload runs", r.allRun("web", 2))
	})
}

// The budget also holds where the kubelet has fallen silent before the node was
// initialized: its pods ran.
func TestDrainOfSilentKubelet(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		p := testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.StartupTaints = []corev1.Taint{{Key: "example.com/stays", Effect: corev1.TaintEffectNoSchedule}}
		})
		r.Apply(p)
		r.start(Options{}, nil)
		r.Deploy(tolerant(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("300m", "300Mi")}))
		r.until("the workload runs", r.allRun("web", 2))
		r.Protect(sim.Budget{Name: "web-budget", Selector: map[string]string{"app": "web"}, MinAvailable: 2})
		n := r.ours()[0]
		if n.Labels[api.LabelInitialized] != "" {
			t.Fatal("the node is initialized in spite of its startup taint")
		}
		r.StopKubelet(n.Name, 4*time.Minute)
		time.Sleep(time.Minute)
		r.DeleteNode(n.Name)
		r.never(2*time.Minute, "a protected pod is ended", func() bool { return r.onNode("web", n.Name) != 2 })
	})
}

// The scheduler binds a pod to a node while the agent closes it. The agent's caches show
// neither yet, and the pod is evicted like the others all the same.
func TestDrainSeesLatePods(t *testing.T) {
	inBubble(t, sim.Options{Lag: 300 * time.Millisecond}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var old string
		r.start(Options{}, func(call string, when sim.When) error {
			if n := r.node(old); call == "PatchNode" && when == sim.Before && n != nil && n.DeletionTimestamp != nil && r.count("late", anyPod) == 0 {
				r.stray("late", old, func(p *corev1.Pod) {
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "workload/web", Controller: ptr.To(true)}}
				})
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		r.until("the workload runs", r.allRun("web", 1))
		r.until("all nodes are up", r.allUp)
		r.Scale("web", 0)
		time.Sleep(5 * time.Second)
		old = r.ours()[0].Name
		r.DeleteNode(old)
		r.until("the node is gone", r.gone(old))
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("ended without asking: %v", cut)
		}
	})
}

// A machine comes up at the moment at which the cloud takes it back. The agent's caches
// do not show it yet, and its pods are asked to go all the same.
func TestDrainOfAMachineThatHasJustComeUp(t *testing.T) {
	inBubble(t, sim.Options{Lag: 600 * time.Millisecond, StopTime: 5 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default", spot))
		process := r.Connect(nil)
		r.startProcess(process, Options{Notices: process.Notices})
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		r.until("the workload runs", r.allRun("web", 1))
		old, machine := r.ours()[0].Name, r.Machines()[0]
		r.Interrupt(machine.ID, 1)
		r.until("the node is gone", r.gone(old))
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("ended without asking: %v", cut)
		}
	})
}

// While the API server is slow to say which pods are on a drained node that has never come up, the kubelet of its
// machine registers under another name and starts pods. They are asked to go before the machine is terminated.
func TestDrainOfAMachineThatComesUpUnderAnotherName(t *testing.T) {
	inBubble(t, sim.Options{Lag: 300 * time.Millisecond, BootTime: 130 * time.Second, StopTime: 5 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("4"))) // there is no other place for the pods
		r.BootsAs(func(i offer.Instance) string { return "other-" + i.NodeName })
		var slow, ran atomic.Bool
		r.start(Options{}, func(call string, when sim.When) error {
			if call == "PodsOn" && when == sim.After && slow.CompareAndSwap(true, false) {
				time.Sleep(2 * time.Minute)
				ran.Store(r.allRun("web", 3)())
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")})
		r.until("a machine is bought", func() bool { return len(r.ours()) == 1 })
		time.Sleep(2 * offer.ListingLag) // a younger node is made again
		slow.Store(true)
		old := r.ours()[0].Name
		r.DeleteNode(old)
		r.until("the node is gone", r.gone(old))
		if cut := r.CutOff(); len(cut) > 0 || !ran.Load() {
			t.Errorf("ended without asking: %v; they ran: %t", cut, ran.Load())
		}
	})
}

// Another program takes back, each second, what a drain has changed of a node. That the node is uncordoned does not hold up
// the drain, because the taint keeps pods away. If it loses the taint, the drain is held up, and says so. It begins once.
func TestDrainOfANodeThatIsOpenedAgain(t *testing.T) {
	uncordon := func(n *corev1.Node) { n.Spec.Unschedulable = false }
	for name, c := range map[string]struct {
		open func(*corev1.Node)
		held float64
	}{
		"uncordoned": {open: uncordon},
		"untainted": {held: 1, open: func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&drain.Taint) })
		}},
		"without the label": {held: 1, open: func(n *corev1.Node) { delete(n.Labels, drain.ExcludeFromBalancers) }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				a := r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				old := r.ours()[0].Name
				r.DeleteNode(old)
				for range 60 {
					time.Sleep(time.Second)
					r.EditNode(old, c.open)
				}
				if there := r.node(old) != nil; there != (c.held > 0) {
					t.Errorf("the node is there: %t", there)
				}
				if got := heldUp(t, a, drain.HeldByNode); got != c.held {
					t.Errorf("%v drains are held up, want %v", got, c.held)
				}
				if c.held > 0 {
					r.reported("another program", api.TaintDisruption, "Node")
				}
				r.until("the node is gone", r.gone(old))
				if got := len(r.Events(event.Draining)); got != 1 {
					t.Errorf("%d events, want 1", got)
				}
			})
		})
	}
}

func (r *rig) onNode(workload, node string) int {
	return r.count(workload, func(p *corev1.Pod) bool { return p.Spec.NodeName == node })
}

// Ordinary pods go first, critical ones when these are gone.
func TestDrainCriticalLast(t *testing.T) { // TERM-009
	inBubble(t, sim.Options{StopTime: 10 * time.Second}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		old := r.ours()[0].Name
		for _, class := range []string{"system-node-critical", "system-cluster-critical"} {
			r.stray(class, old, func(p *corev1.Pod) { p.Spec.PriorityClassName = class })
		}
		time.Sleep(time.Second)
		r.DeleteNode(old)
		terminating := func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }
		r.until("the ordinary pod is gone", func() bool {
			web := r.onNode("web", old)
			if critical := r.count("system-node-critical", terminating) + r.count("system-cluster-critical", terminating); web > 0 && critical > 0 {
				t.Fatal("critical pods are evicted while an ordinary one is there")
			}
			return web == 0
		})
		if r.count("system-node-critical", anyPod) != 1 {
			t.Fatal("the critical pod went with the ordinary one")
		}
		r.until("the node is gone", r.gone(old))
	})
}

// Pods that are not waited for: a drain that finds only these is over at once.
func TestDrainDoesNotWait(t *testing.T) { // TERM-007, TERM-010
	cases := map[string]func(*corev1.Pod){
		"static":    func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} },
		"succeeded": func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
		"failed":    func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"tolerates unschedulable": func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists}}
		},
		"tolerates everything": func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		},
	}
	for name, edit := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				r.Scale("web", 0)
				time.Sleep(5 * time.Second)
				old := r.ours()[0].Name
				r.stray("stays", old, edit)
				time.Sleep(time.Second)
				r.DeleteNode(old)
				if took := r.until("the node is gone", r.gone(old)); took > drain.BalancerPatience+2*time.Second {
					t.Errorf("the drain took %s", took)
				}
			})
		})
	}
}

// A node whose instance is gone does not wait for pods that nobody can stop, nor for those that nobody may delete.
func TestDrainWithoutInstance(t *testing.T) { // TERM-012
	for name, denied := range map[string]bool{"pods are deleted": false, "a webhook denies it": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: time.Hour}, func(r *rig) {
				var denies atomic.Bool
				denies.Store(denied)
				r.Apply(testProvisioner("default"))
				r.start(Options{}, failing("DeletePod", &denies, "denied by a webhook"))
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				r.until("the workload runs", r.allRun("web", 1))
				time.Sleep(2 * time.Minute)
				old, machine := r.ours()[0].Name, r.Machines()[0].ID
				r.DeleteNode(old)
				r.TerminateInstance(machine)
				if took := r.until("the node is gone", r.gone(old)); took > 2*time.Minute {
					t.Errorf("the drain took %s", took)
				}
			})
		})
	}
}

// The termination grace period ends a drain that a budget holds up.
func TestTerminationGracePeriod(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		p := testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.Disruption = &api.Disruption{TerminationGracePeriod: ptr.To(metav1.Duration{Duration: 10 * time.Minute})}
		})
		r.served(p, sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		r.Protect(sim.Budget{Name: "never", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
		old := r.ours()[0].Name
		r.DeleteNode(old)
		took := r.until("the node is gone", r.gone(old))
		if took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("the drain took %s, want the grace period of 10 min", took)
		}
		r.until("the workload runs", r.allRun("web", 1))
	})
}

// A drain is as long as it took since the node was deleted, also if another agent has begun it.
func TestDurationOfADrainThatAnotherAgentHasBegun(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		first := r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		never := sim.Budget{Name: "never", Selector: map[string]string{"app": "web"}, MinAvailable: 1}
		r.Protect(never)
		old := r.ours()[0].Name
		r.DeleteNode(old)
		time.Sleep(time.Hour)
		first.kill()
		a := r.start(Options{}, nil)
		never.MinAvailable = 0
		r.Protect(never)
		r.until("the node is gone", r.gone(old))
		if took := gauge(t, a.metrics, "drain_duration_seconds", "default"); took < time.Hour.Seconds() {
			t.Errorf("it is counted as %v seconds, want an hour and a little", took)
		}
	})
}

// A pod that may take ten years to stop, and does, keeps a node of a NodePool only until the termination grace period
// is over. It keeps that of a Provisioner, and an event and a metric say so.
func TestPodThatMayTakeYearsToStop(t *testing.T) {
	const limit = 10 * time.Minute
	for name, p := range map[string]*api.Provisioner{"of a Provisioner": testProvisioner("default", bounded(limit)), "of a NodePool": nodePool(limit)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{StopTime: 24 * time.Hour}, func(r *rig) {
				load := patient()
				load.Spec.TerminationGracePeriodSeconds = ptr.To[int64](315360000)
				a := r.served(p, load)
				old := r.ours()[0].Name
				r.DeleteNode(old)
				if p.Source != nil {
					if took := r.until("the node is gone", r.gone(old)); took > 11*time.Minute {
						t.Errorf("the drain took %s, want the grace period of 10 min", took)
					}
					return
				}
				time.Sleep(limit - time.Minute)
				if events := r.Events(event.DrainHeldUp); len(events) > 0 {
					t.Errorf("before the grace period is over: %v", events)
				}
				time.Sleep(2 * time.Minute)
				says := func(e sim.Event) bool { return strings.Contains(e.Message, "because of its own grace period") }
				if r.node(old) == nil || len(r.CutOff()) > 0 || !slices.ContainsFunc(r.Events(event.DrainHeldUp), says) {
					t.Errorf("the node is gone, or no event says what keeps it: %v", r.Events(event.DrainHeldUp))
				}
				if got := gauge(t, a.metrics, "drains_held_up", "default", string(drain.HeldByPod)); got != 1 {
					t.Errorf("%v drains are held up", got)
				}
			})
		})
	}
}

// A node without pods still passes connections on to pods of other nodes: load balancers get time to take it out.
func TestLoadBalancersGetTimeToTakeOutANode(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(0)), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		old := r.ours()[0].Name
		r.Scale("web", 0)
		r.until("the node is excluded from load balancers", func() bool { return r.node(old).Labels[drain.ExcludeFromBalancers] != "" })
		if took := r.until("the machine is terminated", func() bool { return len(r.Machines()) == 0 }); took < drain.BalancerPatience || took > 2*drain.BalancerPatience {
			t.Errorf("the machine is terminated %s after its node was excluded from load balancers, want %s and a little", took, drain.BalancerPatience)
		}
	})
}

// Volumes are detached before the machine goes, or waited for a while.
func TestDrainWaitsForVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		detachAfter, want time.Duration
	}{
		"detached in time": {detachAfter: 30 * time.Second, want: 30 * time.Second},
		"never detached":   {detachAfter: time.Hour, want: drain.DetachPatience + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				old := r.ours()[0].Name
				r.Attach(old, "kubernetes.io/csi/ebs.csi.aws.com^vol-1")
				r.DeleteNode(old)
				time.AfterFunc(c.detachAfter, func() { r.Attach(old) })
				if took := r.until("the node is gone", r.gone(old)); took < c.want || took > c.want+3*time.Second {
					t.Errorf("the drain took %s, want %s", took, c.want)
				}
			})
		})
	}
}

// Volumes are waited for from the moment when the last pod has gone. The caches may show a pod late that the scheduler
// has bound before the taint.
func TestVolumesOfALatePodAreWaitedFor(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		old := r.ours()[0].Name
		r.Attach(old, "kubernetes.io/csi/ebs.csi.aws.com^vol-1")
		r.DeleteNode(old)
		time.Sleep(30 * time.Second) // the node is empty
		never := sim.Budget{Name: "never", Selector: map[string]string{"app": "late"}, MinAvailable: 1}
		r.Protect(never)
		r.stray("late", old)
		time.Sleep(2 * drain.DetachPatience)
		never.MinAvailable = 0
		r.Protect(never)
		if took := r.until("the node is gone", r.gone(old)); took < drain.DetachPatience {
			t.Errorf("the drain went on for %s, want %s", took, drain.DetachPatience)
		}
	})
}

// Deleting a Provisioner drains its nodes; it goes when they have.
func TestProvisionerDeletion(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 5, Spec: sim.Requests("1500m", "1Gi")})
		if f := r.Provisioner("default").Finalizers; !slices.Equal(f, []string{api.Finalizer}) {
			t.Errorf("finalizers %v while it has nodes", f)
		}
		if r.Sweeps() == 0 {
			t.Error("nothing was swept on start")
		}
		r.DeleteProvisioner("default")
		r.until("the Provisioner is gone", func() bool {
			if r.Provisioner("default") != nil {
				return false
			}
			if r.Forgotten("default") == 0 {
				t.Fatal("it went before its cloud resources")
			}
			if len(r.ours()) > 0 || len(r.Machines()) > 0 {
				t.Fatalf("it went before its nodes\n%s", r.describe())
			}
			return true
		})
		if got := r.count("web", bound); got != 0 {
			t.Errorf("%d pods are bound to nothing", got)
		}
	})
}

// The cloud controller manager asks EC2 every five seconds for each node that is not ready, and deletes the node if an
// answer lacks the machine, as answers may for a while after a launch. The machine keeps its pods, and gets its Node object again.
func TestNewNodeIsDeletedByOthers(t *testing.T) {
	for name, c := range map[string]struct {
		lag     time.Duration
		binding api.PodBinding
	}{
		"the agent binds pods":                 {0, api.BindImmediate},
		"kube-scheduler binds pods":            {0, api.BindScheduler},
		"the caches lag":                       {300 * time.Millisecond, api.BindImmediate},
		"they lag, and kube-scheduler binds":   {300 * time.Millisecond, api.BindScheduler},
		"they lag by more than the cloud does": {2 * time.Second, api.BindImmediate},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{Lag: c.lag}, func(r *rig) {
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.PodBinding = c.binding }))
				r.start(Options{}, nil)
				r.Deploy(two())
				r.until("the machine has a node", func() bool { return len(r.ours()) == 1 })
				name := r.ours()[0].Name
				pods := func() (names []string) {
					for _, p := range r.Pods() {
						names = append(names, p.Name)
					}
					slices.Sort(names)
					return names
				}
				before := pods()
				for range 4 {
					time.Sleep(5 * time.Second)
					r.DeleteNode(name)
				}
				r.until("the pods run", r.allRun("web", 2))
				n := r.node(name)
				if len(r.Launches()) != 1 || n == nil || n.Spec.Unschedulable || !slices.Equal(pods(), before) {
					t.Errorf("%d machines were bought for %v, then %v; the first node: %v", len(r.Launches()), before, pods(), n)
				}
			})
		})
	}
}

// A deletion that the agent has a reason for ends the machine however new it is.
func TestNewNodeIsDeletedForAReason(t *testing.T) {
	for name, remove := range map[string]func(r *rig, machine offer.Instance){
		"it is interrupted":          func(r *rig, machine offer.Instance) { r.Interrupt(machine.ID, 1) },
		"its Provisioner is deleted": func(r *rig, _ offer.Instance) { r.DeleteProvisioner("default") },
		"its kubelet has registered": func(r *rig, machine offer.Instance) {
			r.EditNode(machine.NodeName, func(n *corev1.Node) { n.Annotations[api.AnnotationManagedAttach] = "true" })
			time.Sleep(time.Second)
			r.DeleteNode(machine.NodeName)
		},
		"another program also holds it": func(r *rig, machine offer.Instance) {
			r.EditNode(machine.NodeName, func(n *corev1.Node) { n.Finalizers = append(n.Finalizers, "example.com/hold") })
			time.Sleep(time.Second)
			r.DeleteNode(machine.NodeName)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default"))
				process := r.Connect(nil)
				r.startProcess(process, Options{Notices: process.Notices})
				r.Deploy(two())
				r.until("the machine has a node", func() bool { return len(r.ours()) == 1 })
				time.Sleep(5 * time.Second)
				machine := r.Machines()[0]
				remove(r, machine)
				time.Sleep(20 * time.Second)
				if slices.ContainsFunc(r.Machines(), func(m offer.Instance) bool { return m.ID == machine.ID && m.Runs() }) {
					t.Errorf("the machine still runs: %v", r.node(machine.NodeName))
				}
			})
		})
	}
}

// A new machine is interrupted while its node, which somebody else has deleted, waits to be made again.
func TestNewNodeIsInterruptedBeforeItIsMadeAgain(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var fails atomic.Bool
		process := r.Connect(failing("PatchNode", &fails, "the API server is down"))
		r.startProcess(process, Options{Notices: process.Notices})
		r.Deploy(two())
		r.until("the machine has a node", func() bool { return len(r.ours()) == 1 })
		time.Sleep(5 * time.Second)
		machine := r.Machines()[0]
		fails.Store(true)
		r.DeleteNode(machine.NodeName)
		time.Sleep(time.Second)
		r.Interrupt(machine.ID, 1)
		time.Sleep(time.Second)
		fails.Store(false)
		time.Sleep(20 * time.Second)
		if slices.ContainsFunc(r.Machines(), func(m offer.Instance) bool { return m.ID == machine.ID && m.Runs() }) {
			t.Errorf("the machine still runs: %v", r.node(machine.NodeName))
		}
	})
}
