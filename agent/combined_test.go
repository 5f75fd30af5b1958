package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// The tests in this file have two things go wrong at the same time.

// two is a workload that fits on one machine.
func two() sim.Workload {
	return sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")}
}

// unlist keeps a machine out of the cloud's answers for a while.
func (r *rig) unlist(id string, d time.Duration) {
	r.Unlist(id, true)
	time.AfterFunc(d, func() { r.Unlist(id, false) })
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

// A machine that the cloud does not list at the moment at which it is given back is taken for gone.
// It is terminated once it is listed.
func TestUnlistedMachineIsTerminated(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", emptyAfter(0)), two())
		r.unlist(r.Machines()[0].ID, 10*time.Second)
		r.Scale("web", 0)
		if took := r.until("nothing is left", r.nothingLeft); took > 2*time.Minute {
			t.Errorf("a machine without a node went on for %s", took)
		}
	})
}

// A new machine that the cloud does not list yet is not given up, whatever the clocks say.
func TestUnlistedMachineWithClockSkew(t *testing.T) {
	inBubble(t, sim.Options{Skew: -time.Minute}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		time.Sleep(45 * time.Second)
		r.Deploy(two())
		r.until("the machine is bought", func() bool { return len(r.Machines()) == 1 })
		r.unlist(r.Machines()[0].ID, 50*time.Second)
		r.until("the workload runs", r.allRun("web", 2))
		if got := len(r.Launches()); got != 1 {
			t.Errorf("%d orders, want 1", got)
		}
	})
}

// A Provisioner that cannot be read can be deleted, with and without nodes.
func TestUnreadableProvisionerIsDeleted(t *testing.T) {
	for name, replicas := range map[string]int{"with a node": 2, "without nodes": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default", emptyAfter(0)), two())
				r.Scale("web", replicas)
				r.until("it has so many nodes", func() bool { return len(r.ours()) == replicas/2 })
				r.Remark("default", finding.List{{Severity: finding.Error, Path: "spec.requirements", Text: finding.Plain("must be a list")}})
				time.Sleep(2 * time.Minute)
				r.DeleteProvisioner("default")
				if took := r.until("nothing is left", func() bool { return r.Provisioner("default") == nil && r.nothingLeft() }); took > 2*time.Minute {
					t.Errorf("it took %s", took)
				}
				if cut := r.CutOff(); len(cut) > 0 {
					t.Errorf("pods were ended without asking: %v", cut)
				}
			})
		})
	}
}

// A kubelet has registered under another name, and its node could not be taken over yet when the
// expected node is deleted. The pods that have come to it are evicted all the same.
func TestOtherNodeOfAMachineIsDrained(t *testing.T) {
	inBubble(t, sim.Options{StopTime: 20 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.BootsAs(func(i offer.Instance) string { return "other-" + i.NodeName })
		var broken atomic.Bool
		r.start(Options{}, failing("Market", &broken, "request limit exceeded"))
		r.Deploy(two())
		r.until("the node is made", func() bool { return len(r.ours()) == 1 })
		expected := r.ours()[0].Name
		broken.Store(true)
		r.until("the other name is known", func() bool { return len(r.Nodes()) == 2 })
		r.DeletePods("web")
		other := "other-" + expected
		r.until("pods run there", func() bool { return r.onNode("web", other) == 2 })
		machine := r.Machines()[0].ID
		r.DeleteNode(expected)
		r.until("the machine is given back", func() bool { return len(r.Machines()) == 0 || r.Machines()[0].ID != machine })
		for _, p := range r.Pods() {
			if p.Spec.NodeName == other && isRunning(p) {
				t.Errorf("pod %s was not evicted", p.Name)
			}
		}
	})
}

// A new node has the name of one whose instance was found to be gone. Its pods are evicted like others.
func TestNodeWithTheNameOfAnother(t *testing.T) {
	inBubble(t, sim.Options{StopTime: 10 * time.Second}, func(r *rig) {
		r.served(testProvisioner("default"), two())
		time.Sleep(3 * time.Minute)
		name := r.ours()[0].Name
		r.Named(func(offer.Instance) string { return name })
		r.TerminateInstance(r.Machines()[0].ID)
		r.until("the node is gone", r.gone(name))
		r.until("the workload runs", r.allRun("web", 2))
		r.DeleteNode(name)
		r.until("another machine is bought", func() bool { return len(r.Launches()) == 3 })
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
	})
}

// A new machine has the name of one whose Node object another program holds. Its own Provisioner waits, within its
// limit, and others go on. It becomes a node when the object goes.
func TestNameThatAHeldNodeHas(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("other"))
		r.served(testProvisioner("default", limitCPU("4")), sim.Workload{Name: "web", Replicas: 3, Spec: on("default", sim.Requests("900m", "500Mi"))})
		time.Sleep(2 * time.Minute) // the machine is listed by now
		name := r.ours()[0].Name
		r.Named(func(i offer.Instance) string { return map[string]string{"default": name}[i.Provisioner] })
		r.AddFinalizer(name, "example.com/other")
		r.TerminateInstance(r.Machines()[0].ID)
		r.until("another machine is bought", func() bool { return len(r.Launches()) == 2 })
		r.Deploy(sim.Workload{Name: "late", Replicas: 1, Spec: on("other", sim.Requests("900m", "500Mi"))})
		if took := r.until("the pod has a node", func() bool { return r.count("late", bound) == 1 }); took > 10*time.Second {
			t.Errorf("the pod of another Provisioner had a node after %s", took)
		}
		r.Scale("web", 10)
		time.Sleep(2 * time.Minute)
		if got := r.Events(event.NodeRefused); len(got) != 1 || got[0].Name != "default" || !strings.Contains(got[0].Message, name) {
			t.Errorf("the Provisioner was told %v", got)
		}
		r.EditNode(name, func(n *corev1.Node) { n.Finalizers = nil })
		if took := r.until("its pods run", func() bool { return r.count("web", isRunning) >= 3 }); took > 3*time.Minute {
			t.Errorf("the machine was used after %s", took)
		}
		time.Sleep(time.Minute)
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 || len(r.Machines()) != 2 {
			t.Errorf("%d cores on %d machines, the limit is 4", peak, len(r.Machines()))
		}
	})
}

// What surge has noted on a node, and somebody has made unreadable, does not keep the node for ever.
func TestUnreadableSurge(t *testing.T) {
	for _, text := range []string{"true", "[]"} {
		t.Run(text, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default"), two())
				name := r.ours()[0].Name
				r.EditNode(name, func(n *corev1.Node) { n.Annotations[api.AnnotationSurging] = text })
				r.DeleteNode(name)
				if took := r.until("the node is gone", r.gone(name)); took > 2*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// A node that has lost all annotations while it was to go, or only the note of what replaces it, takes pods again.
func TestLostMarkOfARemoval(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Node){
		"all annotations":  func(n *corev1.Node) { n.Annotations = nil },
		"what replaces it": func(n *corev1.Node) { n.Annotations[api.AnnotationDisruption] = api.ReasonExpiry }, // which was set with it
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default"), two())
				time.Sleep(2 * time.Minute)
				name := r.ours()[0].Name
				r.Taint(name, drain.Taint)
				r.EditNode(name, edit)
				r.until("the mark is removed", func() bool {
					n := r.node(name)
					return len(n.Spec.Taints) == 0 && n.Annotations[api.AnnotationDisruption] == ""
				})
				r.Deploy(sim.Workload{Name: "small", Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
				r.until("the pod runs", r.allRun("small", 1))
				if got := len(r.Machines()); got != 1 {
					t.Errorf("%d machines, want the one that has room", got)
				}
			})
		})
	}
}

// tolerant is a workload whose pods tolerate the startup taint of these tests.
func tolerant(w sim.Workload) sim.Workload {
	w.Spec.Tolerations = []corev1.Toleration{{Key: "example.com/stays", Operator: corev1.TolerationOpExists}}
	return w
}

// A machine whose startup taints nobody removes is given back after the startup timeout, unless pods that
// tolerate them run there.
func TestStartupTaintsStay(t *testing.T) {
	for name, c := range map[string]struct {
		binding  api.PodBinding
		load     sim.Workload
		replicas int // after a while
		stays    bool
	}{
		"pods wait for the scheduler": {api.BindScheduler, two(), 2, false},
		"pods wait":                   {api.BindImmediate, two(), 2, false},
		"its pods have gone":          {api.BindImmediate, tolerant(two()), 0, false},
		"pods run":                    {api.BindImmediate, tolerant(two()), 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
					s.StartupTaints = []corev1.Taint{{Key: "example.com/stays", Effect: corev1.TaintEffectNoSchedule}}
					s.PodBinding = c.binding
				}))
				r.start(Options{}, nil)
				r.Deploy(c.load)
				r.until("the machine is bought", func() bool { return len(r.ours()) == 1 })
				first := r.ours()[0].Name
				time.Sleep(5 * time.Minute)
				r.Scale("web", c.replicas)
				time.Sleep(12 * time.Minute)
				events := r.Events(event.NeverRegistered)
				if there := r.node(first) != nil; there != c.stays || c.stays != (len(events) == 0) {
					t.Errorf("the node is there: %t, want %t; events %v", there, c.stays, events)
				}
				if len(events) > 0 && !strings.Contains(events[0].Message, "example.com/stays") {
					t.Errorf("the event says %q", events[0].Message)
				}
			})
		})
	}
}

// The agent binds no pod to a node with a startup taint that it does not tolerate: it runs there when the taint
// is gone, on the one machine that was bought for it.
func TestPodsWaitForStartupTaints(t *testing.T) {
	for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
		inBubble(t, sim.Options{}, func(r *rig) {
			taint := corev1.Taint{Key: "example.com/stays", Effect: effect}
			r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.StartupTaints = []corev1.Taint{taint} }))
			r.start(Options{}, nil)
			r.Deploy(two())
			r.Deploy(tolerant(sim.Workload{Name: "agent", Replicas: 1, Spec: sim.Requests("100m", "100Mi")}))
			r.until("the agent's pod runs", r.allRun("agent", 1))
			r.never(5*time.Minute, "a pod is bound", func() bool { return r.count("web", bound) > 0 })
			r.Untaint(r.ours()[0].Name, taint.Key)
			r.until("the workload runs", r.allRun("web", 2))
			if got := len(r.Machines()); got != 1 {
				t.Errorf("%s: %d machines, want one", effect, got)
			}
		})
	}
}

// Another program taints each new node at once, until its own pod runs there. The place of pods that the agent does
// not bind is kept nevertheless: one machine is bought for them, and it is not up before a taint is gone of which it is
// known that it goes.
func TestTaintsOfOthersOnNewNodes(t *testing.T) {
	for key, c := range map[string]struct {
		after time.Duration // the creation of the node: it boots in 40 s
		known bool
	}{
		"node.cilium.io/agent-not-ready": {time.Minute, true},
		"readiness.k8s.io/network":       {time.Minute, true},
		"example.com/scanning":           {30 * time.Second, false},
	} {
		inBubble(t, sim.Options{}, func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.start(Options{}, nil)
			r.Deploy(sim.Workload{Name: "work", Replicas: 2, Job: time.Hour, Spec: sim.Requests("500m", "500Mi")})
			since := map[string]time.Time{}
			r.until("the Job runs", func() bool {
				for _, n := range r.ours() {
					switch put, is := since[n.Name]; {
					case !is:
						since[n.Name] = time.Now()
						r.Taint(n.Name, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
					case time.Since(put) >= c.after:
						r.Untaint(n.Name, key)
					case c.known && r.allUp():
						r.Fatalf("%s: the node is up although it has the taint", key)
					}
				}
				return r.allRun("work", 2)()
			})
			if len(since) != 1 {
				t.Errorf("%s: %d machines, want one", key, len(since))
			}
		})
	}
}

// Pods run on a node that keeps its startup taints. When its kubelet is silent for less than five minutes, the node stays, and
// new pods do not wait for it.
func TestSilenceOfANodeWithStartupTaints(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.StartupTaints = []corev1.Taint{{Key: "example.com/stays", Effect: corev1.TaintEffectNoSchedule}}
			s.PodBinding = api.BindImmediate
		}))
		r.start(Options{}, nil)
		r.Deploy(tolerant(two()))
		r.until("the workload runs", r.allRun("web", 2))
		first := r.ours()[0].Name
		time.Sleep(30 * time.Minute)
		r.StopKubelet(first, 4*time.Minute)
		time.Sleep(2 * time.Minute)
		r.Deploy(tolerant(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("100m", "100Mi")}))
		if took := r.until("the new pod runs", r.allRun("more", 1)); took > 2*time.Minute {
			t.Errorf("it took %s, want a boot", took)
		}
		r.never(20*time.Minute, "the node goes", func() bool { return r.node(first) == nil || r.node(first).DeletionTimestamp != nil })
		if !r.allRun("web", 2)() {
			t.Error("its pods do not run any more")
		}
	})
}

// Pods that tolerate its startup taints run on a node that keeps them. Pods that do not tolerate them get another
// node, whose taints go.
func TestNewPodsDoNotWaitForStartupTaintsThatStay(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		taint := corev1.Taint{Key: "example.com/stays", Effect: corev1.TaintEffectNoSchedule}
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.StartupTaints = []corev1.Taint{taint} }))
		r.start(Options{}, nil)
		r.Deploy(tolerant(two()))
		r.until("the workload runs", r.allRun("web", 2))
		time.Sleep(30 * time.Minute)
		r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
		first := r.ours()[0].Name
		other := func() bool {
			for _, n := range r.ours() {
				if n.Name != first {
					r.Untaint(n.Name, taint.Key)
				}
			}
			return len(r.ours()) > 1
		}
		r.until("another machine is bought", other)
		r.until("the new pod runs", r.allRun("more", 1))
		if got := len(r.Machines()); got != 2 || r.onNode("web", first) != 2 {
			t.Errorf("%d machines, want two, and the pods that run where they were", got)
		}
	})
}

// Startup taints that nobody removes, on machines that pods which tolerate them keep: machines for pods that do not are not
// bought one after the other.
func TestStartupTaintsStayWhereOtherPodsRun(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.StartupTaints = []corev1.Taint{{Key: "example.com/stays", Effect: corev1.TaintEffectNoSchedule}}
		}))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("100m", "100Mi")})
		for i := range 2 {
			r.until("a machine is there", func() bool { return len(r.ours()) == i+1 })
			name := fmt.Sprint("web-", i)
			r.Deploy(tolerant(sim.Workload{Name: name, Replicas: 1, Spec: sim.Requests("1500m", "1Gi")}))
			r.until("it runs", r.allRun(name, 1))
		}
		r.never(25*time.Minute, "a third machine is bought in a zone", func() bool {
			zones := map[string]int{}
			for _, m := range r.Machines() {
				zones[m.Zone]++
			}
			return slices.Max(append(slices.Collect(maps.Values(zones)), 0)) > 2
		})
		if events := r.Events(event.NeverRegistered); len(events) != 2 || !strings.Contains(events[0].Message, "example.com/stays") {
			t.Errorf("events %v, want one of each node that name the taint", events)
		}
	})
}

// A replacement whose startup taint nobody removes, and on which another pod runs, does not keep the node for ever that
// waits for it.
func TestReplacementWithStartupTaintsThatStay(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", expireAfter(1800), func(s *api.ProvisionerSpec) {
			s.StartupTaints = []corev1.Taint{{Key: "example.com/stays", Effect: corev1.TaintEffectNoSchedule}}
		}))
		r.start(Options{}, nil)
		r.Deploy(two())
		r.until("the machine is bought", func() bool { return len(r.ours()) == 1 })
		first := r.ours()[0].Name
		r.Untaint(first, "example.com/stays")
		r.until("the workload runs", r.allRun("web", 2))
		r.until("its replacement is bought", func() bool { return len(r.ours()) == 2 })
		r.Deploy(tolerant(sim.Workload{Name: "other", Replicas: 1, Spec: sim.Requests("100m", "100Mi")}))
		r.until("another pod runs there", r.allRun("other", 1))
		r.unmarked(first)
		if events := r.Events(event.NeverRegistered); len(events) != 1 || !strings.Contains(events[0].Message, "example.com/stays") {
			t.Errorf("events %v, want one of the replacement", events)
		}
		if events := r.Events(event.Kept); len(events) == 0 || !strings.Contains(events[len(events)-1].Message, "did not come up in time") {
			t.Errorf("events %v do not say why the node stays", events)
		}
	})
}

// A node whose machine is gone is held by another program's finalizer. It takes nothing of the limits,
// and does not keep its Provisioner from being deleted.
func TestNodeThatAnotherProgramHolds(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", limitCPU("2")), two())
		time.Sleep(2 * time.Minute)
		name := r.ours()[0].Name
		r.AddFinalizer(name, "example.com/other")
		r.DeleteNode(name)
		r.until("the workload runs on another", func() bool { return r.onNode("web", name) == 0 && r.allRun("web", 2)() })
		time.Sleep(2 * time.Minute) // what AWS does not list any more is known to be gone by now
		r.never(10*time.Minute, "the node counts", func() bool { return r.Provisioner("default").Status.Resources.Cpu().Value() > 2 })
		r.DeleteProvisioner("default")
		r.until("the Provisioner is gone", func() bool { return r.Provisioner("default") == nil && len(r.Machines()) == 0 })
		if r.node(name) == nil || len(r.Events(event.DrainHeldUp)) == 0 {
			t.Errorf("the node has gone, or nothing says that it is held: %v", r.Events(event.DrainHeldUp))
		}
		for _, o := range r.node(name).OwnerReferences {
			if ptr.Deref(o.BlockOwnerDeletion, false) {
				t.Errorf("a deletion of %s in the foreground would wait for the node", o.Kind)
			}
		}
	})
}

// Pods that no drain evicts, because they tolerate everything, end with their machine. They run elsewhere also while a
// program holds its Node object, but not before the machine has ended. The node is let go also if a webhook denies that
// they are deleted.
func TestPodsThatStayOnAHeldNode(t *testing.T) {
	for name, denied := range map[string]bool{"they are removed": false, "a webhook denies it": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{ShutdownTime: 2 * time.Minute}, func(r *rig) {
				var denies atomic.Bool
				denies.Store(denied)
				load := two()
				load.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
				r.Apply(testProvisioner("default"))
				r.start(Options{}, failing("DeletePod", &denies, "denied by a webhook"))
				r.Deploy(load)
				r.until("the workload runs", r.allRun("web", 2))
				time.Sleep(2 * time.Minute)
				name, machine := r.ours()[0].Name, r.Machines()[0].ID
				r.AddFinalizer(name, "example.com/other")
				r.DeleteNode(name)
				r.until("the node is let go", func() bool { return !slices.Contains(r.node(name).Finalizers, api.Finalizer) })
				if slices.ContainsFunc(r.Machines(), func(i offer.Instance) bool { return i.ID == machine }) {
					t.Error("its pods still run there")
				}
				if denied {
					return
				}
				r.until("the workload runs on another", func() bool { return r.onNode("web", name) == 0 && r.allRun("web", 2)() })
				r.never(10*time.Minute, "a further machine is bought", func() bool { return len(r.Machines()) > 1 })
				if r.node(name) == nil {
					t.Error("the node has gone")
				}
			})
		})
	}
}
