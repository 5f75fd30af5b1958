package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// karpenterLeaves has a cluster in which Karpenter has just stopped: machines of the
// NodePool general, as many as asked for, with three pods on each. It returns the pods.
func (r *rig) karpenterLeaves(machines int, source api.Origin) map[string]bool {
	r.Helper()
	pool := testProvisioner("general", func(s *api.ProvisionerSpec) {
		s.Labels = map[string]string{api.LabelNodePool: "general", "team": "a"}
		s.Disruption = &api.Disruption{Drift: ptr.To(true)}
	})
	pool.Source = &source
	r.Apply(pool)
	for range machines {
		r.LaunchByKarpenter(sim.Claimed{Pool: "general", Candidate: karpenterBuys})
	}
	r.Deploy(sim.Workload{Name: "web", Replicas: 3 * machines, Spec: sim.Requests("1", "1Gi")})
	r.until("the workload runs", r.allRun("web", 3*machines))
	return r.allPods()
}

var aNodePool = api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind}

var karpenterBuys = offer.Candidate{InstanceType: "m5.xlarge", Zone: stock.Zones[0], CapacityType: api.CapacityOnDemand}

func (r *rig) allPods() map[string]bool {
	out := map[string]bool{}
	for _, p := range r.Pods() {
		out[string(p.UID)] = true
	}
	return out
}

// takingOver starts an agent that serves NodePools.
func (r *rig) takingOver(intercept sim.Intercept) *running {
	process := r.Connect(intercept)
	return r.startProcess(process, Options{Karpenter: takeover.Source{Claims: process.Cluster, Machines: process.Cloud}})
}

// takenOver reports whether everything is the agent's.
func (r *rig) takenOver() bool {
	foreign := func(n *corev1.Node) bool {
		return n.Labels[api.LabelProvisioner] != "general" || n.OwnerReferences[0].Kind != api.NodePoolKind || len(n.OwnerReferences) != 1
	}
	known := func(m offer.Instance) bool { return m.Tags[api.LabelNodePool] != "" || m.Provisioner != "general" }
	return len(r.NodeClaims()) == 0 && !slices.ContainsFunc(r.Nodes(), foreign) && !slices.ContainsFunc(r.Machines(), known)
}

// What Karpenter has launched becomes the agent's own: no pod restarts, no machine is
// bought or given back, and nothing drifts because it was built by somebody else.
func TestTakeover(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		pods := r.karpenterLeaves(4, aNodePool)
		r.EditNode(r.Nodes()[0].Name, func(n *corev1.Node) { // by a Karpenter that could not replace the node
			n.Annotations[api.AnnotationDisruption] = "drifted"
		})
		r.takingOver(nil)
		r.until("everything is taken over", r.takenOver)
		r.never(time.Hour, "something changes after the takeover", func() bool {
			return !maps.Equal(r.allPods(), pods) || len(r.Machines()) != 4 || len(r.Launches()) > 0
		})
		for _, n := range r.Nodes() {
			if !slices.Contains(n.Finalizers, api.Finalizer) || n.Annotations[api.AnnotationHourlyPrice] == "" || n.Labels["team"] != "a" ||
				n.Annotations[api.AnnotationProvisionerHash] == "" || n.Annotations["karpenter.sh/nodepool-hash"] == "" ||
				n.Annotations[api.AnnotationDisruption] != "" {
				t.Errorf("node %s: %v %v %v", n.Name, n.Finalizers, n.Labels, n.Annotations)
			}
		}
		if got := len(r.Events(event.TakenOver)); got != 4 {
			t.Errorf("%d events for 4 nodes", got)
		}
		if p := r.Provisioner("general"); p.Status.Nodes != 4 || !meta.IsStatusConditionTrue(p.Status.Conditions, conditionReady) {
			t.Errorf("status %+v", p.Status)
		}
	})
}

// What was taken over is the agent's also in the end: it is drained in order and ended
// when its NodePool goes.
func TestTakenOverNodesGoWithTheirNodePool(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.karpenterLeaves(2, aNodePool)
		r.takingOver(nil)
		r.until("everything is taken over", r.takenOver)
		r.Deploy(sim.Workload{Name: "web", Replicas: 0, Spec: sim.Requests("1", "1Gi")})
		r.DeleteProvisioner("general")
		r.until("everything is gone", func() bool { return len(r.Machines()) == 0 && len(r.Nodes()) == 0 })
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were cut off: %v", cut)
		}
	})
}

// An agent may die at any step of a takeover: Karpenter, back at that moment, ends no
// machine, and another agent finishes what was begun.
func TestTakeoverCrashes(t *testing.T) {
	for _, call := range []string{"TakeOver", "PatchNode", "Disown", "ReleaseNodeClaim"} {
		for _, when := range []sim.When{sim.Before, sim.After} {
			t.Run(fmt.Sprintf("%s %s", when, call), func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) {
					pods := r.karpenterLeaves(3, aNodePool)
					died := make(chan struct{})
					var first *running
					seen := 0
					ready := make(chan struct{})
					first = r.takingOver(func(c string, w sim.When) error {
						if c != call || w != when {
							return nil
						}
						<-ready
						if seen++; seen == 1 {
							first.process.Kill()
							close(died)
						}
						return nil
					})
					close(ready)
					<-died
					first.end()
					time.Sleep(time.Minute)
					if ended := r.RunKarpenter(); len(ended) > 0 {
						t.Fatalf("Karpenter ends %v", ended)
					}
					r.takingOver(nil)
					r.until("everything is taken over", r.takenOver)
					r.never(time.Hour, "something changes after the takeover", func() bool {
						return !maps.Equal(r.allPods(), pods) || len(r.Machines()) != 3 || len(r.Launches()) > 0
					})
					if ended := r.RunKarpenter(); len(ended) > 0 {
						t.Errorf("after the takeover Karpenter ends %v", ended)
					}
				})
			})
		}
	}
}

// A step that goes wrong keeps the next from being taken, and the NodePool from buying:
// its limits could not be kept. It is tried again.
func TestTakeoverFails(t *testing.T) {
	for _, call := range []string{"Karpenters", "TakeOver", "PatchNode", "Disown", "ReleaseNodeClaim"} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				pods := r.karpenterLeaves(2, aNodePool)
				broken := true
				r.takingOver(func(c string, w sim.When) error {
					if c == call && w == sim.Before && broken {
						return errors.New("not authorized")
					}
					return nil
				})
				ready := func() *metav1.Condition {
					return meta.FindStatusCondition(r.Provisioner("general").Status.Conditions, conditionReady)
				}
				r.until("the condition says so", func() bool { return ready() != nil && ready().Reason == view.ReasonTakingOver })
				if want := map[bool]string{true: "could not be changed", false: "not authorized"}[call == "PatchNode"]; !strings.Contains(ready().Message, want) {
					t.Errorf("message %q", ready().Message)
				}
				if ended := r.RunKarpenter(); len(ended) > 0 {
					t.Errorf("Karpenter ends %v", ended)
				}
				if len(r.NodeClaims()) != 2 {
					t.Errorf("%d NodeClaims are left of 2", len(r.NodeClaims()))
				}
				broken = false
				r.until("everything is taken over", r.takenOver)
				r.until("the NodePool is ready", func() bool { return ready().Status == metav1.ConditionTrue })
				if !maps.Equal(r.allPods(), pods) {
					t.Error("pods were replaced")
				}
			})
		})
	}
}

// A right that the agent lacks for an hour, named with another request id each time, is asked for ever less
// often, and once it is there, the takeover ends soon.
func TestTakeoverThatKeepsFailing(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.karpenterLeaves(2, aNodePool)
		attempts := 0
		broken := true
		a := r.takingOver(func(c string, w sim.When) error {
			if c == "TakeOver" && w == sim.Before && broken {
				attempts++
				return fmt.Errorf("not authorized, request %d", attempts)
			}
			return nil
		})
		time.Sleep(time.Hour)
		if attempts < 30 || attempts > 70 {
			t.Errorf("%d attempts in an hour", attempts)
		}
		if turns := gauge(t, a.metrics, "turns_total"); turns > 250 {
			t.Errorf("%v turns in an hour", turns)
		}
		broken = false
		if took := r.until("everything is taken over", r.takenOver); took > 2*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// What Karpenter keeps is left to it: while it runs, and where its NodePool cannot be
// served.
func TestNothingIsTakenOver(t *testing.T) {
	cases := map[string]api.Origin{
		"Karpenter runs":           {Kind: api.NodePoolKind, Waits: "Karpenter is running"},
		"a field is not supported": {Kind: api.NodePoolKind, Unsupported: []api.Unsupported{{Path: "spec.replicas", Text: "is not supported"}}},
	}
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.karpenterLeaves(1, source)
				r.takingOver(nil)
				r.never(10*time.Minute, "something is taken over", func() bool {
					m := r.Machines()[0]
					return len(r.NodeClaims()) != 1 || m.Tags[api.LabelNodePool] == "" || m.Provisioner != "" || len(r.ours()) > 0
				})
			})
		})
	}
}

// Only Karpenter drains the nodes of a Capacity Block before EC2 ends their machines, and keeps those that are empty until
// then. Once none is left, the NodePool is taken over.
func TestMachinesOfACapacityBlockStayWithKarpenter(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.karpenterLeaves(2, aNodePool)
		block := r.Nodes()[0].Name
		r.EditNode(block, func(n *corev1.Node) { n.Labels[api.LabelReservationType] = api.ReservationBlock })
		time.Sleep(time.Minute) // the caches follow
		r.takingOver(nil)
		r.never(10*time.Minute, "something is taken over", func() bool {
			return len(r.NodeClaims()) != 2 || r.Machines()[0].Tags[api.LabelNodePool] == "" || r.Machines()[1].Tags[api.LabelNodePool] == "" || len(r.ours()) > 0
		})
		if c := meta.FindStatusCondition(r.Provisioner("general").Status.Conditions, "Ready"); c == nil || c.Reason != "TakingOver" || !strings.Contains(c.Message, block+" is in a Capacity Block") {
			t.Errorf("condition = %+v", c)
		}
		r.EditNode(block, func(n *corev1.Node) { delete(n.Labels, api.LabelReservationType) })
		r.until("everything is taken over", r.takenOver)
	})
}

// standingBy are NodeClaims of a cluster in which Karpenter may come back.
type standingBy struct {
	takeover.Claims
	back atomic.Bool
}

func (s *standingBy) Standby() string {
	if s.back.Load() {
		return "Karpenter is running"
	}
	return ""
}

// Karpenter may come back at any step of a takeover: from then on, nothing is taken from it.
func TestKarpenterComesBackDuringATakeover(t *testing.T) {
	steps := []string{"Karpenters", "TakeOver", "PatchNode", "Disown", "ReleaseNodeClaim"}
	for n, last := range steps[:len(steps)-2] {
		t.Run("after "+last, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.karpenterLeaves(1, aNodePool)
				claims := &standingBy{}
				process := r.Connect(func(call string, when sim.When) error {
					if call == last && when == sim.After {
						claims.back.Store(true)
					}
					if when == sim.Before && slices.Contains(steps[n+1:n+3], call) && claims.back.Load() {
						t.Errorf("%s although Karpenter is back", call)
					}
					return nil
				})
				claims.Claims = process.Cluster
				r.startProcess(process, Options{Karpenter: takeover.Source{Claims: claims, Machines: process.Cloud}})
				r.until("Karpenter is back", claims.back.Load)
				r.never(time.Minute, "its NodeClaim is released", func() bool { return len(r.NodeClaims()) == 0 })
			})
		})
	}
}

// A machine whose kubelet registers after Karpenter has gone becomes a node as well,
// and its pods do not wait for somebody to take Karpenter's taint off.
func TestTakeoverOfAYoungMachine(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		pool := testProvisioner("general", func(s *api.ProvisionerSpec) { s.Labels = map[string]string{api.LabelNodePool: "general"} })
		pool.Source = &api.Origin{APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind}
		r.Apply(pool)
		r.LaunchByKarpenter(sim.Claimed{Pool: "general", Candidate: karpenterBuys, Young: true})
		time.Sleep(time.Minute) // its kubelet registers, with Karpenter's taint
		r.LaunchByKarpenter(sim.Claimed{Pool: "general", Candidate: karpenterBuys, Young: true})
		r.Deploy(sim.Workload{Name: "web", Replicas: 6, Spec: sim.Requests("1", "1Gi")})
		r.takingOver(nil)
		r.until("the workload runs", r.allRun("web", 6))
		r.until("everything is taken over", r.takenOver)
		r.until("all nodes are up", r.allUp)
		if len(r.Machines()) != 2 || len(r.Launches()) != 0 {
			t.Errorf("%d machines, %d launches", len(r.Machines()), len(r.Launches()))
		}
	})
}

// A node that Karpenter was about to drain is drained in order, and its machine ends.
func TestTakeoverOfANodeOnItsWayOut(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.karpenterLeaves(2, aNodePool)
		leaving := r.Nodes()[0].Name
		r.DeleteNode(leaving)
		r.takingOver(nil)
		r.until("it is gone", func() bool {
			return !slices.ContainsFunc(r.Nodes(), func(n *corev1.Node) bool { return n.Name == leaving })
		})
		r.until("the workload runs", r.allRun("web", 6))
		if cut := r.CutOff(); len(cut) > 0 || len(r.NodeClaims()) > 0 {
			t.Errorf("pods were cut off: %v; %d NodeClaims are left", cut, len(r.NodeClaims()))
		}
	})
}
