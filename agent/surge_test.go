package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// surging is a Deployment that asks for surge.
func surging(name string, replicas int) sim.Workload {
	return sim.Workload{Name: name, Replicas: replicas, Spec: sim.Requests("900m", "1Gi"), Revision: "1", Surge: "true"}
}

func isReady(p *corev1.Pod) bool {
	if !isRunning(p) {
		return false
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// readyUntil waits for a condition. Until then, so many pods of the workload are ready at any time.
func (r *rig) readyUntil(workload string, replicas int, what string, condition func() bool) {
	r.Helper()
	r.until(what, func() bool {
		if n := r.count(workload, isReady); n < replicas {
			r.Fatalf("until %s: %d pods of %s are ready, want %d\n%s", what, n, workload, replicas, r.describe())
		}
		return condition()
	})
}

// onOldNode runs a workload on a large node, which is to go for the sake of the edits.
func (r *rig) onOldNode(load sim.Workload, edits ...func(*api.ProvisionerSpec)) (node string) {
	r.Helper()
	return r.onOldNodeIf(nil, load, edits...)
}

// onOldNodeIf is like onOldNode, with an intercept of the agent's calls.
func (r *rig) onOldNodeIf(intercept sim.Intercept, load sim.Workload, edits ...func(*api.ProvisionerSpec)) (node string) {
	r.Helper()
	_, node = r.agentOnOldNode(intercept, load, edits...)
	return node
}

// agentOnOldNode is as onOldNodeIf and also returns the agent.
func (r *rig) agentOnOldNode(intercept sim.Intercept, load sim.Workload, edits ...func(*api.ProvisionerSpec)) (a *running, node string) {
	r.Helper()
	large := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.4xlarge"} }
	r.Apply(testProvisioner("default", large))
	a = r.start(Options{}, intercept)
	r.Deploy(load)
	r.until("the workload runs", r.allRun(load.Name, load.Replicas))
	r.until("all nodes are up", r.allUp)
	r.Apply(testProvisioner("default", edits...))
	return a, r.ours()[0].Name
}

// moved reports whether a node is gone, its pods run elsewhere and nothing of surge is left behind.
func (r *rig) moved(node string, load sim.Workload) func() bool {
	return func() bool {
		return r.node(node) == nil && r.allRun(load.Name, load.Replicas)() && len(r.Misscaled()) == 0 && r.traces() == ""
	}
}

// traces names what surge has left on a node or pod.
func (r *rig) traces() string {
	for _, n := range r.Nodes() {
		if n.Annotations[api.AnnotationSurging] != "" {
			return "node " + n.Name
		}
	}
	for _, p := range r.Pods() {
		if p.Annotations[corev1.PodDeletionCost] == "-1000" && p.DeletionTimestamp == nil {
			return "pod " + p.Name
		}
	}
	return ""
}

var cheaper = consolidates(func(d *api.Disruption) { d.Drift = ptr.To(false) })

// Pods of a Deployment that asks for it leave their node without a moment in which fewer of them
// are ready, also where a PodDisruptionBudget lets none go.
func TestSurge(t *testing.T) {
	for name, c := range map[string]struct {
		load   sim.Workload
		budget int
		edit   func(*api.ProvisionerSpec)
	}{
		"a single replica, for consolidation": {load: surging("web", 1), edit: cheaper},
		"a single replica that must be there": {load: surging("web", 1), budget: 1, edit: cheaper},
		"all of several must be there":        {load: surging("web", 3), budget: 3, edit: cheaper},
		"for drift":                           {load: surging("web", 2), budget: 2, edit: func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "b"} }},
		"for expiry":                          {load: surging("web", 2), budget: 2, edit: expireAfter(600)},
		"for a Provisioner that asks for it": {load: sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("900m", "1Gi"), Revision: "1"}, edit: func(s *api.ProvisionerSpec) {
			cheaper(s)
			s.Annotations = map[string]string{api.AnnotationSurge: "true"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				if c.budget > 0 {
					r.Protect(sim.Budget{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: c.budget})
				}
				node := r.onOldNode(c.load, c.edit)
				r.readyUntil("web", c.load.Replicas, "the pods have moved", r.moved(node, c.load))
				if got := r.Moves().Evictions; got > 0 {
					t.Errorf("%d pods were evicted", got)
				}
				if len(r.Missed()) > 0 {
					t.Error(r.Missed())
				}
			})
		})
	}
}

// While new pods are made one after the other in place of those of a node, no machine is bought for both, and the step
// of consolidation is not called off.
func TestSurgeOfPodsMadeOneByOne(t *testing.T) {
	for name, edit := range map[string]func(*api.ProvisionerSpec){"consolidation": cheaper, "expiry": expireAfter(600)} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{ControllerPods: 1, ReactionTime: 50 * time.Millisecond}, func(r *rig) {
				load := surging("web", 8)
				node := r.onOldNode(load, edit)
				r.until("the pods have moved", r.moved(node, load))
				if kept := r.Events(event.Kept); len(r.Launches()) != 2 || len(kept) > 0 {
					t.Errorf("%d machines were bought, want 2; the node was kept: %v", len(r.Launches()), kept)
				}
			})
		})
	}
}

// A node that is chosen to go has been removed by force before, while the cloud did not list its machine. That it is
// drained once the machine is listed is what a person has asked for, so that surge does not move its pods.
func TestNoSurgeFromANodeRemovedByForce(t *testing.T) {
	inBubble(t, sim.Options{BootTime: 3 * time.Minute}, func(r *rig) {
		load := surging("web", 1)
		node := r.onOldNode(load)
		id := r.Machines()[0].ID
		r.Unlist(id, true)
		r.removeByForce(node)
		r.until("the node is made again", func() bool { return r.node(node) != nil && r.allUp() })
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "b"} }))
		r.until("it is chosen to go", func() bool { return r.node(node).Annotations[api.AnnotationDisruption] == api.ReasonDrift })
		r.Unlist(id, false)
		r.until("it is drained", func() bool { return r.node(node).DeletionTimestamp != nil })
		if r.onNode("web", node) == 0 {
			t.Error("its pod has been moved before it was drained, so that this test shows nothing")
		}
		r.until("its pod has moved", r.moved(node, load))
		if len(r.Missed())+len(r.CutOff()) > 0 {
			t.Error(r.Missed(), r.CutOff())
		}
	})
}

// Pods of one Deployment that leave several nodes at the same time do so one node after the other.
func TestSurgeOnSeveralNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		small := func(s *api.ProvisionerSpec) {
			s.InstanceTypes = []string{"m5.large"}
			s.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: "100%"}}}
		}
		load := surging("web", 6)
		r.Protect(sim.Budget{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: 6})
		r.served(testProvisioner("default", small), load)
		old := r.ours()
		if len(old) < 3 {
			t.Fatalf("%d nodes", len(old))
		}
		time.Sleep(10 * time.Minute) // so that they may go for drift
		r.Apply(testProvisioner("default", small, func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "b"} }))
		r.readyUntil("web", 6, "the pods have moved", func() bool {
			for _, n := range old {
				if r.node(n.Name) != nil {
					return false
				}
			}
			return len(r.Misscaled()) == 0 && r.traces() == ""
		})
		if failed := r.Events(event.SurgeFailed); len(failed) > 0 || len(r.Missed()) > 0 || r.Moves().Evictions > 0 {
			t.Errorf("failures %v, missed %v, %d evictions", failed, r.Missed(), r.Moves().Evictions)
		}
	})
}

// What an autoscaler scales, or what does not ask for it, moves as without surge.
func TestNotSurged(t *testing.T) {
	for name, change := range map[string]func(*sim.Workload){
		"it does not ask":                  func(w *sim.Workload) { w.Surge = "" },
		"an autoscaler scales it":          func(w *sim.Workload) { w.Autoscaled = true },
		"somebody has set a deletion cost": func(w *sim.Workload) { w.Annotations = map[string]string{corev1.PodDeletionCost: "5"} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				load := surging("web", 1)
				change(&load)
				node := r.onOldNode(load, cheaper)
				r.until("the pod has moved", r.moved(node, load))
				if r.Moves().Evictions != 1 || len(r.Events(event.Surging)) > 0 {
					t.Errorf("%d evictions, events %v", r.Moves().Evictions, r.Events(event.Surging))
				}
			})
		})
	}
}

// A drain leaves pods that tolerate its taint to the end of the machine, so that surge does not move them: the
// scheduler could place the new ones on the same node again.
func TestNoSurgeOfPodsThatTolerateADrain(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		load := surging("web", 1)
		load.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		node := r.onOldNode(load, expireAfter(600))
		r.until("the node is gone", r.moved(node, load))
		if surges := r.Events(event.Surging); len(surges) > 0 {
			t.Error(surges)
		}
	})
}

// Where no further pod becomes ready, that one goes again and the node stays. It is tried again later.
func TestSurgeIsUndone(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		load := surging("web", 1)
		node := r.onOldNode(load, cheaper)
		first := r.Pods()[0].Name
		r.SetUnready("web", true)
		r.readyUntil("web", 1, "it is given up", func() bool { return len(r.Events(event.SurgeFailed)) > 0 })
		r.readyUntil("web", 1, "the node is kept", func() bool {
			n := r.node(node)
			return n.Annotations[api.AnnotationDisruption] == "" && len(n.Spec.Taints) == 0 && r.count("web", anyPod) == 1 && len(r.Misscaled()) == 0 && r.traces() == ""
		})
		if got := r.Pods()[0].Name; got != first {
			t.Errorf("pod %s is left, want %s", got, first)
		}
		r.never(8*time.Minute, "it is tried again at once", func() bool { return r.count("web", anyPod) > 1 })
		r.SetUnready("web", false)
		r.readyUntil("web", 1, "the pod has moved", r.moved(node, load))
	})
}

// If the API server refuses to scale the Deployment, surge is given up at once, and the node stays.
func TestSurgeThatIsRefused(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var tries atomic.Int64
		a, node := r.agentOnOldNode(refusing("ScaleDeployment", fmt.Errorf("%w: forbidden", cluster.ErrRefused), &tries), surging("web", 1), expireAfter(600))
		r.readyUntil("web", 1, "it is given up", func() bool { return len(r.Events(event.SurgeFailed)) > 0 })
		if n := tries.Load(); n != 1 || !strings.Contains(r.Events(event.SurgeFailed)[0].Message, "forbidden") {
			t.Errorf("%d tries, events %v", n, r.Events(event.SurgeFailed))
		}
		r.readyUntil("web", 1, "the node is kept", func() bool {
			n := r.node(node)
			return n.Annotations[api.AnnotationDisruption] == "" && len(n.Spec.Taints) == 0 && r.traces() == ""
		})
		time.Sleep(8 * time.Minute)
		if n := tries.Load(); n != 1 {
			t.Errorf("it was tried %d times within ten minutes", n)
		}
		if n := gauge(t, a.metrics, "removals_refused", "deployment"); n != 1 {
			t.Errorf("%v Deployments are counted, want 1", n)
		}
	})
}

// A surge that has never scaled anything up needs no right to scale in order to be given up, and keeps no
// node that somebody deletes.
func TestSurgeThatNeverBegan(t *testing.T) {
	for name, deletes := range map[string]bool{"in time": false, "the node is deleted": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				var tries atomic.Int64
				node := r.onOldNodeIf(refusing("ScaleDeployment", errors.New("the webhook does not answer"), &tries), surging("web", 1), expireAfter(600))
				r.readyUntil("web", 1, "it is tried", func() bool { return tries.Load() > 0 })
				if deletes {
					r.DeleteNode(node)
					r.until("the node is gone", r.gone(node))
					return
				}
				began := time.Now()
				r.readyUntil("web", 1, "it is given up", func() bool { return len(r.Events(event.SurgeFailed)) > 0 })
				if took := time.Since(began); took > 11*time.Minute {
					t.Errorf("it took %s", took)
				}
				r.readyUntil("web", 1, "the node is kept", func() bool { return len(r.node(node).Spec.Taints) == 0 && r.traces() == "" })
			})
		})
	}
}

// Where surge gives up, the node stays, and no machine is bought for its pods.
func TestNoMachineForSurgeThatIsGivenUp(t *testing.T) {
	inBubble(t, sim.Options{Lag: 135 * time.Millisecond}, func(r *rig) {
		small := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.large"} }
		r.Apply(testProvisioner("default", small))
		r.start(Options{}, nil)
		r.Deploy(surging("web", 1))
		r.Deploy(sim.Workload{Name: "beside", Replicas: 1, Spec: sim.Requests("900m", "1Gi")})
		r.until("a node is full", func() bool { return r.allRun("web", 1)() && r.allRun("beside", 1)() && len(r.ours()) == 1 })
		r.Deploy(sim.Workload{Name: "room", Replicas: 1, Spec: sim.Requests("900m", "1Gi")})
		r.until("another has room for one pod", func() bool { return r.allRun("room", 1)() && r.allUp() && len(r.ours()) == 2 })
		for _, p := range r.Pods() {
			if p.Labels["app"] == "room" {
				r.stray("precious", p.Spec.NodeName, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} })
			}
		}
		r.Scale("beside", 0)
		r.SetUnready("web", true)
		r.Apply(testProvisioner("default", small, func(s *api.ProvisionerSpec) { s.Labels = map[string]string{"team": "b"} }))
		r.until("the pod is to move", func() bool { return r.count("web", anyPod) == 2 })
		r.never(30*time.Minute, "a machine is bought", func() bool { return len(r.Machines()) > 2 })
		if len(r.Events(event.SurgeFailed)) == 0 {
			t.Error("surge was not given up")
		}
	})
}

// Whoever scales a Deployment while its pods move has the last word.
func TestUsersScaleDuringSurge(t *testing.T) {
	for name, replicas := range map[string]int{"up": 5, "back": 2, "down": 1, "to nothing": 0} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				load := surging("web", 2)
				node := r.onOldNode(load, cheaper)
				r.SetUnready("web", true)
				r.until("there are more pods", func() bool { return r.count("web", anyPod) == 4 })
				r.Scale("web", replicas)
				r.SetUnready("web", false)
				wanted := func() bool {
					return r.count("web", anyPod) == replicas && len(r.Misscaled()) == 0 && r.traces() == ""
				}
				r.until("there are as many as users want", wanted)
				r.never(5*time.Minute, "users are overruled", func() bool { return len(r.Misscaled()) > 0 && r.traces() == "" })
				if replicas > 0 {
					r.until("the pods have moved later", func() bool { return r.node(node) == nil && wanted() })
				}
				if len(r.Missed()) > 0 {
					t.Error(r.Missed())
				}
			})
		})
	}
}

// What an agent has begun is finished or taken back by the next one, wherever it was killed.
func TestCrashDuringSurge(t *testing.T) {
	for _, call := range []string{"Steer", "ScaleDeployment", "PatchNode", "DeleteNode"} {
		for _, when := range []sim.When{sim.Before, sim.After} {
			for n := 1; n <= 4; n++ {
				t.Run(fmt.Sprintf("%s call %d of %s", when, n, call), func(t *testing.T) {
					inBubble(t, sim.Options{}, func(r *rig) { r.crashDuringSurge(call, when, n) })
				})
			}
		}
	}
}

func (r *rig) crashDuringSurge(call string, when sim.When, n int) {
	load := surging("web", 2)
	r.Protect(sim.Budget{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: 2})
	large := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.4xlarge"} }
	r.Apply(testProvisioner("default", large))
	first := r.start(Options{}, nil)
	r.Deploy(load)
	r.until("the workload runs", r.allRun("web", 2))
	r.until("all nodes are up", r.allUp)
	first.end()
	node := r.ours()[0].Name
	r.Apply(testProvisioner("default", cheaper))
	doomed := r.killAt(call, when, n)
	moved := r.moved(node, load)
	r.readyUntil("web", 2, "the agent is dead or has done its work", func() bool { return doomed.dead() || moved() })
	r.start(Options{}, nil)
	r.readyUntil("web", 2, "the pods have moved", moved)
	if len(r.Missed()) > 0 {
		r.Error(r.Missed())
	}
}

// A node that is not to go any more keeps its pods.
func TestSurgeIsCalledOff(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		load := surging("web", 1)
		node := r.onOldNode(load, cheaper)
		first := r.Pods()[0].Name
		r.SetUnready("web", true)
		r.until("there are more pods", func() bool { return r.count("web", anyPod) == 2 })
		r.Apply(testProvisioner("default"))
		r.readyUntil("web", 1, "all is as before", func() bool {
			return r.node(node).Annotations[api.AnnotationDisruption] == "" && r.count("web", anyPod) == 1 && len(r.Misscaled()) == 0 && r.traces() == ""
		})
		if got := r.Pods()[0].Name; got != first {
			t.Errorf("pod %s is left, want %s", got, first)
		}
	})
}

// A node that is deleted while its pods are moved is let go only once their Deployment has been
// scaled back: what was begun is noted on the node.
func TestNodeIsKeptForItsRecords(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		load := surging("web", 1)
		large := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.4xlarge"} }
		r.Apply(testProvisioner("default", large))
		refuse := false
		r.start(Options{}, func(call string, when sim.When) error {
			if refuse && call == "ScaleDeployment" && when == sim.Before {
				return errors.New("the API server is away")
			}
			return nil
		})
		r.Deploy(load)
		r.until("the workload runs", r.allRun("web", 1))
		r.until("all nodes are up", r.allUp)
		node := r.ours()[0].Name
		r.SetUnready("web", true)
		r.Apply(testProvisioner("default", cheaper))
		r.until("there are more pods", func() bool { return r.count("web", anyPod) == 2 })
		refuse = true
		r.DeleteNode(node)
		r.until("the pod is evicted", func() bool { return r.onNode("web", node) == 0 })
		r.never(5*time.Minute, "the node goes with its record", func() bool { return r.node(node) == nil })
		refuse = false
		r.until("the node is gone", r.gone(node))
		if wrong := r.Misscaled(); len(wrong) > 0 {
			t.Error(wrong)
		}
	})
}

// Somebody removes the record of a surge, or its node. The Deployment gets the replicas back that it had before.
func TestSurgeThatLosesItsRecord(t *testing.T) {
	for name, lose := range map[string]func(r *rig, node string){
		"the annotation": func(r *rig, node string) {
			r.EditNode(node, func(n *corev1.Node) { delete(n.Annotations, api.AnnotationSurging) })
		},
		"the node": func(r *rig, node string) { r.removeByForce(node) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{Lag: 135 * time.Millisecond}, func(r *rig) {
				load := surging("web", 2)
				node := r.onOldNode(load, cheaper)
				r.SetUnready("web", true)
				r.until("there are more pods", func() bool { return r.count("web", anyPod) == 4 })
				lose(r, node)
				r.until("it is scaled back", func() bool { return len(r.Misscaled()) == 0 && r.count("web", anyPod) == 2 })
				r.SetUnready("web", false)
				r.until("the pods have moved", r.moved(node, load))
			})
		})
	}
}

// forged writes a record of a surge to a node, as its kubelet may.
func (r *rig) forged(node, deployment string, replicas int, pods []*corev1.Pod) {
	record := cluster.Surge{Namespace: "default", Deployment: deployment, UID: "deployment/" + deployment, Replicas: replicas, Since: time.Now()}
	for _, p := range pods {
		record.Pods = append(record.Pods, cluster.SurgePod{Name: p.Name, UID: string(p.UID)})
	}
	text, err := json.Marshal([]cluster.Surge{record})
	if err != nil {
		r.Fatal(err)
	}
	r.EditNode(node, func(n *corev1.Node) {
		n.Annotations[api.AnnotationSurging], n.Annotations[api.AnnotationDisruption] = string(text), api.ReasonExpiry
		if replicas == 0 {
			delete(n.Annotations, api.AnnotationDisruption)
		}
	})
}

// A kubelet may write any annotation to its node. That does not scale a Deployment which does not ask for surge, or whose
// pods are on other nodes.
func TestForgedSurge(t *testing.T) {
	for name, load := range map[string]sim.Workload{
		"no surge":       {Name: "web", Replicas: 3, Spec: sim.Requests("900m", "1Gi"), Revision: "1"},
		"pods elsewhere": surging("web", 3),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.large"} }))
				r.start(Options{}, nil)
				r.Deploy(load)
				r.until("the workload runs", r.allRun("web", 3))
				r.until("all nodes are up", r.allUp)
				pods := r.Pods()
				node := pods[0].Spec.NodeName
				if all := r.onNode("web", node) == 3; all {
					t.Fatal("all pods are on one node")
				}
				scaled := func() bool { return len(r.Misscaled()) > 0 }
				r.forged(node, "web", 3, pods)
				r.never(time.Minute, "it is scaled up", scaled)
				r.forged(node, "web", 0, pods)
				r.never(time.Minute, "it is scaled down", scaled)
				if r.traces() != "" {
					t.Errorf("surge leaves %s", r.traces())
				}
			})
		})
	}
}

// A record that is changed while pods move does not take more replicas away than surge has made.
func TestSurgeWithAnotherRecord(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		load := surging("web", 2)
		node := r.onOldNode(load, cheaper)
		r.SetUnready("web", true)
		r.until("there are more pods", func() bool { return r.count("web", anyPod) == 4 })
		r.forged(node, "web", 0, r.Pods())
		r.until("it is scaled back", func() bool { return len(r.Misscaled()) == 0 && r.traces() == "" })
		if events := r.Events(event.Surging); !strings.Contains(events[len(events)-1].Message, "scaled back from 4 to 2") {
			t.Errorf("events %v", events)
		}
		r.SetUnready("web", false)
		r.until("the pods have moved", r.moved(node, load))
		if len(r.Missed()) > 0 {
			t.Error(r.Missed())
		}
	})
}

// unnoted is a cluster whose caches of nodes stand still from the moment on in which they would show the record of a surge.
type unnoted struct {
	Cluster
	thawed atomic.Bool
	mu     sync.Mutex
	before []cluster.Node
}

func (u *unnoted) Snapshot() *cluster.Snapshot {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := *u.Cluster.Snapshot()
	switch {
	case u.thawed.Load():
	case slices.ContainsFunc(s.Nodes, func(n cluster.Node) bool { return n.Annotations[api.AnnotationSurging] != "" }):
		s.Nodes = u.before
	default:
		u.before = s.Nodes
	}
	return &s
}

// The caches of nodes stand still before they show the record of a surge. It is not taken for removed.
func TestSurgeWhileCachesStandStill(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		load := surging("web", 2)
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.4xlarge"} }))
		process := r.Connect(nil)
		still := &unnoted{Cluster: process.Cluster}
		r.startOn(still, process.Cloud, Options{})
		r.Deploy(load)
		r.until("the workload runs", r.allRun("web", 2))
		r.until("all nodes are up", r.allUp)
		node := r.ours()[0].Name
		r.Apply(testProvisioner("default", cheaper))
		r.until("there are more pods", func() bool {
			if r.node(node).Annotations[api.AnnotationSurging] != "" {
				r.SetUnready("web", true)
			}
			return r.count("web", anyPod) == 4
		})
		r.never(3*time.Minute, "it is scaled back", func() bool { return r.count("web", anyPod) < 4 })
		still.thawed.Store(true)
		r.SetUnready("web", false)
		r.until("the pods have moved", r.moved(node, load))
	})
}

// A node does not stay chosen while not all pods of the Deployment are ready: its replacement is paid for.
func TestSurgeDoesNotKeepNodesChosen(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		node := r.onOldNode(surging("web", 2), expireAfter(600))
		marked := func() bool { return r.node(node).Annotations[api.AnnotationDisruption] != "" }
		r.until("the node is chosen", marked)
		r.SetUnready("web", true)
		r.Scale("web", 3)
		time.Sleep(40 * time.Minute)
		if marked() {
			t.Errorf("it is still chosen\n%s", r.describe())
		}
	})
}
