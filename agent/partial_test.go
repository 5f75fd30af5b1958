package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

// The tests in this file have the cloud answer in part, or answer again.

// retailer is a cloud whose orders a test answers.
type retailer struct {
	Cloud
	launch func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error)
}

func (s *retailer) Launch(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	return s.launch(ctx, s.Cloud, o)
}

// retail runs an agent whose orders a test answers.
func (r *rig) retail(launch func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error)) {
	process := r.Connect(nil)
	r.startOn(process.Cluster, &retailer{process.Cloud, launch}, Options{})
}

// An order is served in part, and then a request fails that has bought the rest. The machine that is
// known gets its node at once, and the other one counts towards the limit.
func TestOrderThatFailsInPart(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("4"), func(s *api.ProvisionerSpec) {
			s.Requirements = append(s.Requirements, api.Requirement{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"m5.large"}})
		}))
		var struck atomic.Bool
		r.retail(func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error) {
			if o.Count != 2 || !struck.CompareAndSwap(false, true) {
				return c.Launch(ctx, o)
			}
			whole := o
			o.Count = 1
			d, _ := c.Launch(ctx, o)
			time.AfterFunc(20*time.Second, func() { _, _ = c.Launch(r.Context(), whole) })
			return d, errors.New("create fleet with target capacity 1: the connection was reset")
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("1500m", "1Gi")})
		if took := r.until("the first pod has its node", func() bool { return len(r.ours()) > 0 }); took > 3*time.Second {
			t.Errorf("the node of the machine that is known was made after %s", took)
		}
		time.Sleep(5 * time.Second)
		r.DeletePods("web")
		r.until("the workload runs", r.allRun("web", 2))
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 || !struck.Load() {
			t.Errorf("%d cores, the limit is 4 (an order failed: %t)", peak, struck.Load())
		}
	})
}

// The answer to an order is lost. When it is repeated, the machine has taken the last address of its subnet, so that nothing
// is asked for, and nothing fails. What may have been bought counts towards the limit.
func TestRepeatedOrderThatBuysNothing(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("2"), func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.large"} }))
		first := ""
		r.retail(func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error) {
			if first == "" {
				first = o.LaunchID
				if d, err := c.Launch(ctx, o); err == nil {
					r.unlist(d.Instances[0].ID, 30*time.Second)
				}
				return offer.Delivery{}, errors.New("create fleet with target capacity 1: context deadline exceeded")
			}
			if o.LaunchID != first {
				return c.Launch(ctx, o)
			}
			var d offer.Delivery
			for _, candidate := range o.Candidates[:1] {
				d.Refusals = append(d.Refusals, offer.Refusal{Candidate: candidate, Reason: offer.RefusedAddresses, Message: "no free address in a subnet of " + candidate.Zone})
			}
			return d, nil
		})
		r.Deploy(two())
		r.until("the workload runs", r.allRun("web", 2))
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 2 {
			t.Errorf("%d cores, the limit is 2", peak)
		}
	})
}

// The first request for an order does not reach EC2, which refuses the second and then only says that it knows the
// launch id. What it has refused is told.
func TestRepeatedOrderThatIsRefused(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		asked := 0
		r.retail(func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error) {
			switch asked++; asked {
			case 1:
				return offer.Delivery{}, errors.New("describe subnets: context deadline exceeded")
			case 2:
				return offer.Delivery{Refusals: []offer.Refusal{{Candidate: o.Candidates[0], Reason: offer.RefusedQuota, Message: "the quota is used up"}}}, nil
			case 3:
				return offer.Delivery{}, errors.New("EC2 lists only 0 yet")
			}
			return c.Launch(ctx, o)
		})
		r.Deploy(two())
		r.until("the workload runs", r.allRun("web", 2))
		if !slices.ContainsFunc(r.Events(event.LaunchFailed), func(e sim.Event) bool { return strings.Contains(e.Message, "the quota is used up") }) {
			t.Errorf("events %s: %v", event.LaunchFailed, r.Events(event.LaunchFailed))
		}
	})
}

// An order is served with a machine that an earlier order under the same id has bought, which has its
// node and its pods. No more pods are bound to that node than it has room for.
func TestOrderServedWithAMachineInUse(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var first *offer.Delivery
		orders := 0
		r.retail(func(ctx context.Context, c Cloud, o offer.Order) (offer.Delivery, error) {
			orders++
			if orders == 2 {
				again := *first
				again.Instances[0].LaunchID = o.LaunchID
				r.EditNode(again.Instances[0].NodeName, func(n *corev1.Node) { n.Annotations[api.AnnotationLaunchID] = o.LaunchID })
				time.Sleep(time.Second) // until the caches show it
				return again, nil
			}
			d, err := c.Launch(ctx, o)
			if first == nil {
				first = &d
			}
			return d, err
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 1))
		node := r.ours()[0].Name
		r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		r.never(30*time.Second, "a pod comes to a node without room", func() bool { return r.onNode("more", node) > 0 })
		r.until("the other workload runs", r.allRun("more", 1))
	})
}

// EC2 leaves instances out of its answers, of a new one for a minute and of one that runs for ten. Their
// nodes stay, also if the agent's clock is five minutes ahead.
func TestInstancesLeftOutOfAnswers(t *testing.T) {
	for name, skew := range map[string]time.Duration{"clocks agree": 0, "the agent's clock is ahead": -5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{Skew: skew}, func(r *rig) {
				r.Apply(testProvisioner("default"))
				r.start(Options{}, nil)
				time.Sleep(50 * time.Second)
				r.Deploy(two())
				r.until("the machine is bought", func() bool { return len(r.Machines()) == 1 })
				id := r.Machines()[0].ID
				r.unlist(id, 55*time.Second)
				r.until("the workload runs", r.allRun("web", 2))
				before := r.uids("web")
				time.Sleep(5 * time.Minute)
				r.unlist(id, 10*time.Minute)
				time.Sleep(15 * time.Minute)
				if after := r.uids("web"); len(after) != 2 || before[0] != after[0] || before[1] != after[1] {
					t.Errorf("pods before %v, and after %v", before, after)
				}
				if events := r.Events(event.InstanceGone); len(events) > 0 || len(r.Launches()) != 1 {
					t.Errorf("an instance that runs is called gone: %v, %d orders", events, len(r.Launches()))
				}
			})
		})
	}
}

// A kubelet has registered under another name, so that its machine has two nodes, and only one is
// ready. An answer without the machine ends neither of them.
func TestTwoNodesOfAMachineThatIsLeftOut(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.BootsAs(func(i offer.Instance) string { return "other-" + i.NodeName })
		r.start(Options{}, nil)
		r.Deploy(two())
		r.until("the other name is known", func() bool { return len(r.ours()) == 2 })
		r.DeletePods("web")
		r.until("pods run there", func() bool { return r.onNode("web", "other-"+r.Machines()[0].NodeName) == 2 })
		before := r.uids("web")
		time.Sleep(2 * time.Minute)
		r.unlist(r.Machines()[0].ID, 5*time.Minute)
		time.Sleep(4 * time.Minute)
		if after := r.uids("web"); !slices.Equal(before, after) || len(r.CutOff()) > 0 {
			t.Errorf("pods before %v, and after %v; ended without asking: %v", before, after, r.CutOff())
		}
	})
}

// The cloud has not listed an instance for long, and its kubelet is silent for less than a minute. It is not
// taken for gone: both must last for a minute together.
func TestSilenceOfAMachineThatIsNotListed(t *testing.T) {
	for name, hide := range map[string]func(r *rig, id string){
		"it is left out of answers": func(r *rig, id string) { r.unlist(id, 10*time.Minute) },
		"it has lost its tags, and is then left out": func(r *rig, id string) {
			r.Untag(id, true)
			time.AfterFunc(3*time.Minute, func() { r.unlist(id, 50*time.Second) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default"), two())
				time.Sleep(2 * time.Minute)
				before, node := r.uids("web"), r.ours()[0].Name
				hide(r, r.Machines()[0].ID)
				time.Sleep(3 * time.Minute)
				r.StopKubelet(node, 55*time.Second)
				time.Sleep(10 * time.Minute)
				if after := r.uids("web"); !slices.Equal(before, after) || r.node(node) == nil || r.node(node).DeletionTimestamp != nil {
					t.Errorf("pods before %v, and after %v; node %v", before, after, r.node(node))
				}
			})
		})
	}
}

// A machine that the cloud does not know any more, and whose kubelet is silent, is gone. Its pods are given up
// only when its kubelet has been silent for five minutes.
func TestInstanceThatIsNotKnownAnyMore(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), two())
		time.Sleep(2 * time.Minute)
		old := r.ours()[0].Name
		r.Unlist(r.Machines()[0].ID, true)
		r.StopKubelet(old, 24*time.Hour)
		if took := r.until("the workload runs elsewhere", func() bool { return r.node(old) == nil && r.allRun("web", 2)() }); took > 7*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// A machine is taken back whose node has lost its finalizer. It is drained like others.
func TestNoticeAboutANodeWithoutItsFinalizer(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var deaf atomic.Bool // so that the notice is read before the finalizer is put back
		r.heeding(failing("PatchNode", &deaf, "the API server is away"))
		time.Sleep(2 * time.Minute)
		old := r.ours()[0].Name
		deaf.Store(true)
		time.AfterFunc(3*time.Second, func() { deaf.Store(false) })
		r.EditNode(old, func(n *corev1.Node) { n.Finalizers = nil })
		r.Interrupt(r.Machines()[0].ID, 1)
		if took := r.until("the replacement is bought", func() bool { return len(r.Launches()) == 2 }); took > time.Minute {
			t.Errorf("it took %s; the machine is there for two minutes", took)
		}
		r.until("the workload runs elsewhere", func() bool { return r.node(old) == nil && r.allRun("web", 2)() })
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
	})
}

// The node of a machine is removed by force while the cloud leaves the machine out of its answers. The
// machine still counts towards the limit, and gets another node, also if an earlier answer lacked it.
func TestMachineLeftOutWithoutItsNode(t *testing.T) {
	for name, before := range map[string]time.Duration{"at once": 0, "in an earlier answer too": 45 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.servedWithin4()
				id, old := r.Machines()[0].ID, r.ours()[0].Name
				r.unlist(id, before+50*time.Second)
				time.Sleep(before)
				r.removeByForce(old)
				time.Sleep(5 * time.Minute)
				r.until("the workload runs", r.allRun("web", 3))
				if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 {
					t.Errorf("%d cores, the limit is 4", peak)
				}
			})
		})
	}
}

// The node of a machine is removed by force in the middle of a turn, while the market is read. The machine
// counts in the plan of that turn, too.
func TestMachineLosesItsNodeInATurn(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", limitCPU("4")))
		var slow atomic.Bool
		r.start(Options{}, func(call string, when sim.When) error {
			if call == "Market" && when == sim.Before && slow.Load() {
				time.Sleep(20 * time.Second)
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")})
		r.until("the workload runs", r.allRun("web", 3))
		time.Sleep(2 * time.Minute)
		for i := range 30 { // one of these comes between the comparison and the plan
			slow.Store(true)
			r.Scale("web", 4+i%2)
			time.Sleep(time.Duration(5+3*i) * time.Second)
			r.removeByForce(r.ours()[0].Name)
			time.Sleep(2 * time.Minute)
			slow.Store(false)
			time.Sleep(2 * time.Minute)
		}
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 {
			t.Errorf("%d cores, the limit is 4", peak)
		}
	})
}

// removeByForce deletes a Node object in spite of its finalizers.
func (r *rig) removeByForce(node string) {
	r.DeleteNode(node)
	r.EditNode(node, func(n *corev1.Node) { n.Finalizers = nil })
}

// A machine has two nodes. The one without pods is removed by force, and its Provisioner is deleted, before
// the cloud can be asked again. The pods on the other node are evicted.
func TestProvisionerOfATwoNodeMachineIsDeleted(t *testing.T) {
	inBubble(t, sim.Options{StopTime: 20 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.BootsAs(func(i offer.Instance) string { return "other-" + i.NodeName })
		var broken atomic.Bool
		r.start(Options{}, failing("Instances", &broken, "request limit exceeded"))
		r.Deploy(two())
		r.until("the other name is known", func() bool { return len(r.ours()) == 2 })
		r.DeletePods("web")
		r.until("pods run there", func() bool { return r.onNode("web", "other-"+r.Machines()[0].NodeName) == 2 })
		broken.Store(true)
		r.removeByForce(r.Machines()[0].NodeName)
		r.DeleteProvisioner("default")
		time.Sleep(2 * time.Second)
		broken.Store(false)
		r.until("all is gone", r.nothingLeft)
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
	})
}

// The caches of pods stand still, and do not show the pods that the scheduler has bound to a node. They are
// evicted before its machine is terminated.
func TestDrainWithStalePods(t *testing.T) {
	inBubble(t, sim.Options{StopTime: 20 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.PodBinding = api.BindScheduler }))
		process := r.Connect(nil)
		r.startOn(&frozen{Cluster: process.Cluster, pods: true}, process.Cloud, Options{})
		r.Deploy(two())
		r.until("the pods run", r.allRun("web", 2))
		old := r.ours()[0].Name
		r.DeleteNode(old)
		r.until("the node is gone", r.gone(old))
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
	})
}

// The caches of nodes stand still, and do not show the node of a machine when its Provisioner is deleted. The
// machine is not taken for one without a node: its pods are evicted.
func TestProvisionerDeletedWithStaleNodes(t *testing.T) {
	inBubble(t, sim.Options{StopTime: 20 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		process := r.Connect(nil)
		f := &frozen{Cluster: process.Cluster, nodes: true}
		r.startOn(f, process.Cloud, Options{})
		r.Deploy(two())
		r.until("the pods run", r.allRun("web", 2))
		time.Sleep(2 * time.Minute)
		r.DeleteProvisioner("default")
		time.AfterFunc(2*time.Minute, f.thaw)
		r.until("all is gone", r.nothingLeft)
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
	})
}

// The caches of nodes stand still before a node is ready, and the cloud leaves its machine out of answers. The
// node stays, because the API server knows that it is ready.
func TestReadyMachineThatIsNotListedWithStaleNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		process := r.Connect(nil)
		f := &frozen{Cluster: process.Cluster, nodes: true, thawed: true, still: &cluster.Snapshot{}}
		r.startOn(f, process.Cloud, Options{})
		r.Deploy(two())
		r.until("the node is made", func() bool { return len(r.ours()) == 1 })
		time.Sleep(10 * time.Second)
		f.freeze()
		r.until("the pods run", r.allRun("web", 2))
		before := r.uids("web")
		r.unlist(r.Machines()[0].ID, 4*time.Minute)
		time.AfterFunc(5*time.Minute, f.thaw)
		time.Sleep(10 * time.Minute)
		if after := r.uids("web"); !slices.Equal(before, after) || len(r.CutOff()) > 0 {
			t.Errorf("pods before %v, and after %v; ended without asking: %v", before, after, r.CutOff())
		}
	})
}

// The cloud has left a machine out of all answers for minutes, and a process that has begun to lead has never
// seen it, when its node is removed by force. It counts, because its node was ready.
func TestReadyMachineThatIsNotListedLosesItsNode(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		a := r.servedWithin4()
		id := r.Machines()[0].ID
		r.Unlist(id, true)
		a.kill()
		r.start(Options{}, nil)
		time.Sleep(5*time.Minute + 30*time.Second)
		r.removeByForce(r.ours()[0].Name)
		time.AfterFunc(50*time.Second, func() { r.Unlist(id, false) })
		time.Sleep(5 * time.Minute)
		r.until("the workload runs", r.allRun("web", 3))
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 {
			t.Errorf("%d cores, the limit is 4", peak)
		}
	})
}

// Two machines would replace five nodes together, and EC2 never has more than one of them. The nodes stay, the machine is
// removed again, and it is bought again only after pauses that become longer.
func TestConsolidationWithCapacityForAPart(t *testing.T) { // DISR-038
	for name, launch := range map[string]time.Duration{"bought within a turn": time.Second, "bought later": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{LaunchTime: launch}, func(r *rig) {
				const large = "m5.4xlarge"
				only := func(name string) func(*api.ProvisionerSpec) {
					return func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{name} }
				}
				r.served(testProvisioner("default", only("c5.2xlarge")), sim.Workload{Name: "web", Replicas: 10, Spec: sim.Requests("3", "1Gi")})
				r.Apply(testProvisioner("default", only(large), consolidates(func(d *api.Disruption) {
					d.Drift, d.EvictionCost = ptr.To(false), ptr.To(api.NumberOrNever("0.01"))
				})))
				pods, price, orders := r.uids("web"), r.price(), len(r.Launches())
				for range 12 * 60 {
					for i, zone := range stock.Zones {
						r.Capacity(large, zone, api.CapacityOnDemand, max(0, 6-len(r.Machines())-5*i))
					}
					time.Sleep(10 * time.Second)
					for _, n := range r.ours() {
						if n.Annotations[api.AnnotationDisruption] == api.ReasonConsolidation {
							r.Fatalf("node %s is to go\n%s", n.Name, r.describe())
						}
					}
				}
				if after := r.uids("web"); !slices.Equal(pods, after) {
					r.Errorf("pods before %v, and after %v", pods, after)
				}
				if after := r.price(); after != price {
					r.Errorf("the nodes cost %d, and %d before\n%s", after, price, r.describe())
				}
				if tries := len(r.Launches()) - orders; tries < 2 || tries > 4 {
					r.Errorf("it was tried %d times in two hours", tries)
				}
			})
		})
	}
}

// Two machines would replace a node that has expired, or has drifted, and the quota never has room for more than one of
// them. The node stays, and machines are bought in vain only after pauses that become longer.
func TestReplacementWithQuotaForAPart(t *testing.T) {
	for name, edit := range map[string]func(*api.ProvisionerSpec){"expiry": expireAfter(600), "drift": func(*api.ProvisionerSpec) {}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				only := func(name string) func(*api.ProvisionerSpec) {
					return func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{name} }
				}
				r.served(testProvisioner("default", only("m5.xlarge"), emptyAfter(30)), sim.Workload{Name: "web", Replicas: 4, Spec: sim.Requests("800m", "1Gi")})
				old := r.Machines()[0]
				time.Sleep(10 * time.Minute) // until it is old enough to go
				r.Apply(testProvisioner("default", only("m5.large"), emptyAfter(30), edit))
				bought := map[string]bool{}
				for end := time.Now().Add(6 * time.Hour); time.Now().Before(end); time.Sleep(time.Second) {
					machines := r.Machines()
					for i := range machines {
						bought[machines[i].ID] = true
					}
					if len(machines) == 1 {
						r.Quota(api.CapacityOnDemand, 1)
					}
				}
				if vain := len(bought) - 1; r.node(old.NodeName) == nil || vain < 3 || vain > 6 {
					r.Errorf("%d machines were bought in six hours in vain\n%s", vain, r.describe())
				}
				r.UnlimitedCapacity()
				time.Sleep(5 * time.Hour)
				r.until("the node is replaced", func() bool { return r.node(old.NodeName) == nil && r.allRun("web", 4)() })
			})
		})
	}
}
