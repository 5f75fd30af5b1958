package agent

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/kubelet"
)

// written keeps what is logged.
type written struct {
	mu   sync.Mutex
	text []string
}

func (l *written) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(p))
	return len(p), nil
}

// uids are the pods of a workload.
func (r *rig) uids(workload string) (out []types.UID) {
	for _, p := range r.Pods() {
		if p.Labels["app"] == workload && isRunning(p) {
			out = append(out, p.UID)
		}
	}
	return out
}

// servedWithin4 runs three pods on the only node that a limit of 4 cores allows.
func (r *rig) servedWithin4() *running {
	a := r.served(testProvisioner("default", limitCPU("4")), sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")})
	time.Sleep(2 * time.Minute) // the machine is listed by now
	return a
}

// An instance that has lost some of the cluster's tags is not listed any more, but is
// there: its pods go on, and the tags are put back.
func TestTagsArePutBack(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.servedWithin4()
		before := r.uids("web")
		r.Untag(r.Machines()[0].ID, false)
		r.until("the tags are put back", func() bool { return len(r.Events(event.TagsLost)) > 0 })
		time.Sleep(5 * time.Minute)
		if after := r.uids("web"); !slices.Equal(before, after) {
			t.Errorf("pods before %v, and after %v", before, after)
		}
		if events := r.Events(event.InstanceGone); len(events) > 0 {
			t.Errorf("an instance that runs is called gone: %v", events)
		}
		r.Scale("web", 0)
		r.DeleteNode(r.ours()[0].Name)
		r.until("the machine is given back", r.nothingLeft)
	})
}

// tagless lists instances without some of their tags until these are put back, and terminates none before.
type tagless struct {
	Cloud
	lose func(*offer.Instance)
	lost *atomic.Bool
}

func (c *tagless) Instances(ctx context.Context) ([]offer.Instance, error) {
	out, err := c.Cloud.Instances(ctx)
	for k := range out {
		if c.lost.Load() {
			c.lose(&out[k])
		}
	}
	return out, err
}

func (c *tagless) Retag(ctx context.Context, i offer.Instance) error {
	err := c.Cloud.Retag(ctx, i)
	c.lost.Store(c.lost.Load() && err != nil)
	return err
}

func (c *tagless) Terminate(ctx context.Context, ids []string) ([]string, error) {
	if c.lost.Load() {
		return nil, errors.New("access denied")
	}
	return c.Cloud.Terminate(ctx, ids)
}

// An instance that has lost only its launch id, or the name of its Provisioner, is listed. It gets the tags back, whether
// its node or an earlier list tells which, and is terminated once its node has gone.
func TestSomeTagsArePutBack(t *testing.T) {
	const withNode, restarted, forced = "with its node", "with its node, by another leader", "without a node"
	for name, lose := range map[string]func(*offer.Instance){
		"launch id":   func(i *offer.Instance) { i.LaunchID = "" },
		"Provisioner": func(i *offer.Instance) { i.Provisioner = "" },
		"both":        func(i *offer.Instance) { i.LaunchID, i.Provisioner = "", "" },
	} {
		for _, how := range []string{withNode, restarted, forced} {
			t.Run(name+" "+how, func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) {
					var lost atomic.Bool
					begin := func() *running {
						process := r.Connect(nil)
						return r.startOn(process.Cluster, &tagless{process.Cloud, lose, &lost}, Options{})
					}
					r.Apply(testProvisioner("default", limitCPU("4")))
					a := begin()
					r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")})
					r.until("the workload runs", r.allRun("web", 3))
					time.Sleep(time.Hour)
					r.Scale("web", 0)
					r.until("its pods are gone", func() bool { return r.count("web", anyPod) == 0 })
					if how == restarted {
						a.end()
					}
					lost.Store(true)
					switch how {
					case restarted:
						begin()
					case forced:
						r.removeByForce(r.ours()[0].Name)
					}
					r.until("the tags are put back", func() bool { return !lost.Load() })
					if how != forced {
						r.DeleteNode(r.ours()[0].Name)
					}
					r.until("the machine is given back", r.nothingLeft)
				})
			})
		}
	}
}

// One that nothing marks as the cluster's any more is reported, not given up: a drain
// takes its time, and the log stays short.
func TestInstanceWithoutAnyTagIsReported(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		log := &written{}
		r.log = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Warn})
		r.servedWithin4()
		before := r.uids("web")
		r.Untag(r.Machines()[0].ID, true)
		r.until("it is reported", func() bool { return len(r.Events(event.TagsLost)) > 0 })
		time.Sleep(5 * time.Minute)
		if after := r.uids("web"); !slices.Equal(before, after) {
			t.Errorf("pods before %v, and after %v", before, after)
		}
		node := r.ours()[0].Name
		r.DeleteNode(node)
		time.Sleep(time.Hour)
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
		if r.node(node) == nil || len(r.Events(event.InstanceGone)) > 0 {
			t.Errorf("the node went although its machine runs; events %v", r.Events(event.InstanceGone))
		}
		if n := len(log.text); n > 2*60 {
			t.Errorf("%d lines in an hour:\n%s", n, strings.Join(log.text, ""))
		}
		if !slices.ContainsFunc(r.Events(event.DrainHeldUp), func(e sim.Event) bool { return strings.Contains(e.Message, "lost the tags") }) {
			t.Errorf("nobody says why the node stays: %v", r.Events(event.DrainHeldUp))
		}
		r.TagAll()
		r.until("the node goes", r.gone(node))
	})
}

// A node that has lost what tells its Provisioner is known by its machine: the marks
// are put back, it counts towards limits, and it goes as others do.
func TestMarksArePutBack(t *testing.T) {
	cases := map[string]func(*corev1.Node){
		"label":      func(n *corev1.Node) { delete(n.Labels, api.LabelProvisioner) },
		"other name": func(n *corev1.Node) { n.Labels[api.LabelProvisioner] = "another" },
		"label and owner": func(n *corev1.Node) {
			delete(n.Labels, api.LabelProvisioner)
			n.OwnerReferences = nil
		},
		"capacity type": func(n *corev1.Node) { delete(n.Labels, api.LabelCapacityType) },
		"instance type and zone": func(n *corev1.Node) {
			delete(n.Labels, api.LabelInstanceType)
			delete(n.Labels, api.LabelZone)
		},
		"launch id": func(n *corev1.Node) { delete(n.Annotations, api.AnnotationLaunchID) },
		"finalizer": func(n *corev1.Node) { n.Finalizers = nil },
		"owner":     func(n *corev1.Node) { n.OwnerReferences = nil },
		"hashes": func(n *corev1.Node) {
			delete(n.Annotations, api.AnnotationProvisionerHash)
			delete(n.Annotations, api.AnnotationProfileHash)
		},
		"other hashes": func(n *corev1.Node) {
			n.Annotations[api.AnnotationProvisionerHash] = "0123456789abcdef"
			n.Annotations[api.AnnotationProfileHash] = "0123456789abcdef"
		},
		"everything": func(n *corev1.Node) {
			n.Labels, n.Annotations, n.OwnerReferences, n.Finalizers = map[string]string{}, map[string]string{}, nil, nil
		},
	}
	for name, edit := range cases {
		for _, restarted := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " while no agent runs"}[restarted], func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) {
					a := r.servedWithin4()
					if restarted {
						a.end()
					}
					built := func() [5]string {
						n := r.Nodes()[0]
						return [5]string{
							n.Annotations[api.AnnotationProvisionerHash], n.Annotations[api.AnnotationProfileHash],
							n.Labels[api.LabelCapacityType], n.Labels[api.LabelInstanceType], n.Labels[api.LabelZone],
						}
					}
					before := built()
					r.EditNode(r.ours()[0].Name, edit)
					r.Scale("web", 30)
					if restarted {
						r.start(Options{}, nil)
					}
					r.until("the marks are put back", func() bool {
						n := r.Nodes()[0]
						owned := len(n.OwnerReferences) == 1 && n.OwnerReferences[0].UID == r.Provisioner("default").UID
						return n.Labels[api.LabelProvisioner] == "default" && n.Annotations[api.AnnotationLaunchID] != "" && slices.Contains(n.Finalizers, api.Finalizer) && owned && built() == before
					})
					time.Sleep(5 * time.Minute)
					if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 || len(r.Machines()) != 1 {
						t.Errorf("%d cores on %d machines, the limit is 4", peak, len(r.Machines()))
					}
					r.Scale("web", 0)
					r.DeleteNode(r.Nodes()[0].Name)
					r.until("the machine is given back", r.nothingLeft)
				})
			})
		}
	}
}

// A node without the label of its Provisioner, which is put back, has not drifted, and has room for pods that ask for the
// label.
func TestNothingIsBoughtForALostLabel(t *testing.T) {
	web := sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")}
	more := sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("100m", "100Mi")}
	more.Spec.NodeSelector = map[string]string{api.LabelProvisioner: "default"}
	for name, c := range map[string]struct {
		load   sim.Workload // that is deployed as the label goes
		denied time.Duration
	}{
		"at once":                            {load: web},
		"while changes of nodes are denied":  {load: web, denied: 5 * time.Minute},
		"while a pod comes that asks for it": {load: more},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				var refuses atomic.Bool
				r.Apply(testProvisioner("default"))
				r.start(Options{}, func(made string, when sim.When) error {
					if made == "PatchNode" && when == sim.Before && refuses.Load() {
						return errors.New("a webhook denies it")
					}
					return nil
				})
				r.Deploy(web)
				r.until("the workload runs", r.allRun("web", 3))
				time.Sleep(time.Hour) // the node is old enough to be replaced
				refuses.Store(c.denied > 0)
				r.EditNode(r.ours()[0].Name, func(n *corev1.Node) { delete(n.Labels, api.LabelProvisioner) })
				r.Deploy(c.load)
				time.Sleep(c.denied)
				refuses.Store(false)
				time.Sleep(20 * time.Minute)
				if got := r.Nodes()[0].Labels[api.LabelProvisioner]; got != "default" {
					t.Errorf("the label is %q", got)
				}
				if got := len(r.Launches()); got != 1 {
					t.Errorf("%d purchases, want one", got)
				}
				if !r.allRun(c.load.Name, c.load.Replicas)() {
					t.Errorf("not all pods of %s run", c.load.Name)
				}
			})
		})
	}
}

// A Machine object of Karpenter, or a NodePool of the same name, owns the node: the Provisioner takes its place, so that
// the node stays when somebody deletes the other owner.
func TestNodeOfAnotherOwner(t *testing.T) {
	for _, owner := range []metav1.OwnerReference{
		{APIVersion: "karpenter.sh/v1alpha5", Kind: "Machine", Name: "default-x7k2p", UID: "machine", BlockOwnerDeletion: new(true)},
		{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "default", UID: "pool", BlockOwnerDeletion: new(true)},
	} {
		t.Run(owner.Kind, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				a := r.servedWithin4()
				a.end()
				r.EditNode(r.ours()[0].Name, func(n *corev1.Node) {
					delete(n.Annotations, api.AnnotationLaunchID)
					n.OwnerReferences = []metav1.OwnerReference{owner}
				})
				r.start(Options{}, nil)
				r.until("its owner is the Provisioner alone", func() bool {
					owners := r.Nodes()[0].OwnerReferences
					return len(owners) == 1 && owners[0].Kind == api.ProvisionerKind && owners[0].Name == "default" && owners[0].UID == r.Provisioner("default").UID
				})
				if got := r.Events(event.TakenOver); len(got) != 1 {
					t.Errorf("events %v, want one", got)
				}
			})
		})
	}
}

// A program on a node gives it the hash that its Provisioner has now. The node is replaced nevertheless, because it was built from
// another.
func TestNodeThatSaysItWasBuiltFromWhatIsThereNow(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		a := r.servedWithin4()
		old := r.ours()[0].Name
		a.end()
		changed := testProvisioner("default", func(s *api.ProvisionerSpec) { s.Annotations = map[string]string{"example.com/changed": "yes"} })
		r.Apply(changed)
		r.EditNode(old, func(n *corev1.Node) { n.Annotations[api.AnnotationProvisionerHash] = changed.Hash() })
		r.start(Options{}, nil)
		r.until("the node is replaced", r.gone(old))
	})
}

// A machine that is not listed because its instance has lost its tags gets the marks of its
// node back too: it would go on uncounted if the node was removed, or once another agent leads.
func TestMarksOfAnUntaggedMachineArePutBack(t *testing.T) {
	for name, edit := range map[string]func(*corev1.Node){
		"label and finalizer": func(n *corev1.Node) {
			delete(n.Labels, api.LabelProvisioner)
			n.Finalizers = nil
		},
		"launch id and finalizer": func(n *corev1.Node) {
			delete(n.Annotations, api.AnnotationLaunchID)
			n.Finalizers = nil
		},
	} {
		for _, denied := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " while changes of nodes are denied"}[denied], func(t *testing.T) {
				inBubble(t, sim.Options{}, func(r *rig) {
					var refuses atomic.Bool
					r.Apply(testProvisioner("default", limitCPU("4")))
					a := r.start(Options{}, func(made string, when sim.When) error {
						if (made == "PatchNode" || made == "CreateNode") && when == sim.Before && refuses.Load() {
							return errors.New("a webhook denies it")
						}
						return nil
					})
					r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")})
					r.until("the workload runs", r.allRun("web", 3))
					time.Sleep(2 * time.Minute) // the machine is listed by now
					r.Untag(r.Machines()[0].ID, true)
					r.until("the lost tags are reported", func() bool { return len(r.Events(event.TagsLost)) > 0 })
					refuses.Store(denied)
					r.EditNode(r.ours()[0].Name, edit)
					if denied {
						time.Sleep(2 * offer.ListingLag)
						refuses.Store(false)
					}
					r.until("the marks are put back", func() bool {
						n := r.Nodes()[0]
						return n.Labels[api.LabelProvisioner] == "default" && n.Annotations[api.AnnotationLaunchID] != "" && slices.Contains(n.Finalizers, api.Finalizer)
					})
					a.end()
					r.start(Options{}, nil)
					r.Apply(testProvisioner("default", limitCPU("4"), func(s *api.ProvisionerSpec) {
						s.Labels = map[string]string{"changed": "yes"} // the node has drifted
					}))
					r.Scale("web", 30)
					time.Sleep(time.Hour)
					if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 {
						t.Errorf("%d cores, the limit is 4", peak)
					}
				})
			})
		}
	}
}

// A node that loses its launch id just before its instance is gone is not drained for as long as a
// silent kubelet is waited for.
func TestNodeWithoutLaunchIDFollowsItsInstance(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.servedWithin4()
		time.Sleep(2 * time.Minute)
		old := r.ours()[0].Name
		r.EditNode(old, func(n *corev1.Node) { delete(n.Annotations, api.AnnotationLaunchID) })
		r.TerminateInstance(r.Machines()[0].ID)
		r.DeleteNode(old)
		if took := r.until("the node is gone", r.gone(old)); took > 2*time.Minute {
			t.Errorf("the node of an instance that is gone went after %s", took)
		}
	})
}

// A machine whose Node object was removed by force still counts, and gets another one.
func TestMachineWithoutItsNodeCounts(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.servedWithin4()
		r.EditNode(r.ours()[0].Name, func(n *corev1.Node) { n.Finalizers = nil })
		r.DeleteNode(r.Nodes()[0].Name)
		r.Scale("web", 30)
		r.until("the machine has a node", func() bool { return len(r.ours()) == 1 && r.allUp() })
		time.Sleep(5 * time.Minute)
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 || len(r.Machines()) != 1 {
			t.Errorf("%d cores on %d machines, the limit is 4", peak, len(r.Machines()))
		}
	})
}

// The Node object of a machine is removed by force while pods run there. The next one has no startup taints, which nobody
// would take off again, and takes no new pods, which could get no volumes. The machine is drained and replaced.
func TestMachineThatRunsLosesItsNode(t *testing.T) {
	const another = "old, another leader"
	for name, age := range map[string]time.Duration{"young": 2 * time.Minute, "old": time.Hour, another: time.Hour} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				boot := corev1.Taint{Key: "example.com/boot", Effect: corev1.TaintEffectNoExecute}
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.StartupTaints = []corev1.Taint{boot} }))
				var refuses atomic.Bool
				a := r.start(Options{}, failing("DeleteNode", &refuses, "a webhook denies it"))
				r.Deploy(two())
				old := ""
				runs := func() bool { // what removes the taint does so once for each kubelet
					for _, n := range r.ours() {
						if n.Name != old {
							r.Untaint(n.Name, boot.Key)
						}
					}
					return r.allRun("web", 2)()
				}
				r.until("the workload runs", runs)
				time.Sleep(age)
				old = r.ours()[0].Name
				refuses.Store(name == another)
				r.removeByForce(old)
				r.until("the machine has a node", func() bool { return r.node(old) != nil })
				n := r.node(old)
				if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&boot) }) || !n.Spec.Unschedulable || n.Annotations["volumes.kubernetes.io/controller-managed-attach-detach"] != "true" {
					t.Errorf("taints %v, cordoned: %t, annotations %v", n.Spec.Taints, n.Spec.Unschedulable, n.Annotations)
				}
				if name == another { // the first has not drained the node yet
					a.end()
					r.start(Options{}, nil)
				}
				r.until("the machine is replaced", func() bool { return r.node(old) == nil && runs() && len(r.Machines()) == 1 })
				if cut := r.CutOff(); len(cut) > 0 {
					t.Errorf("pods were ended without asking: %v", cut)
				}
			})
		})
	}
}

// A machine that lost its Node object when it was too old to get another counts until it is terminated.
func TestMachineThatCannotBeTerminatedCounts(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var refuses atomic.Bool
		refuses.Store(true)
		r.Apply(testProvisioner("default", limitCPU("4")))
		r.start(Options{}, failing("Terminate", &refuses, "access denied"))
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("900m", "500Mi")})
		r.until("the workload runs", r.allRun("web", 3))
		machine := r.Machines()[0].ID
		r.never(30*time.Minute, "the machine is replaced", func() bool { return len(r.Machines()) != 1 || r.Machines()[0].ID != machine })
		r.Scale("web", 0) // a machine with pods would get another Node object
		r.until("its pods are gone", func() bool { return r.count("web", func(*corev1.Pod) bool { return true }) == 0 })
		r.removeByForce(r.ours()[0].Name)
		r.Scale("web", 30)
		r.never(10*time.Minute, "another machine is bought", func() bool { return len(r.Machines()) != 1 })
		refuses.Store(false)
		took := r.until("another machine is bought", func() bool { return len(r.Machines()) == 1 && r.Machines()[0].ID != machine })
		if took > 2*time.Minute {
			t.Errorf("it took %s", took)
		}
		if peak := r.Peak("default")[amount.CPU] / 1000; peak > 4 {
			t.Errorf("%d cores, the limit is 4", peak)
		}
	})
}

// A node of a managed node group has been given the label of a Provisioner by hand. It is none of the agent's: it
// keeps no node from being replaced, counts towards no limit, and keeps no Provisioner from being deleted.
func TestNodeThatIsLabelledByHand(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(3600), limitCPU("4")), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		first := r.ours()[0].Name
		size := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("32Gi"), "pods": resource.MustParse("58")}
		r.AddNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "managed", CreationTimestamp: metav1.Now(), Labels: map[string]string{
				api.LabelProvisioner: "default", api.LabelHostname: "managed", api.LabelZone: "sim-1a", api.LabelArch: "amd64", api.LabelOS: "linux",
				api.LabelCapacityType: "on-demand", api.LabelInstanceType: "c5.2xlarge",
			}},
			Spec: corev1.NodeSpec{ProviderID: "aws:///sim-1a/i-managed"},
			Status: corev1.NodeStatus{Capacity: size, Allocatable: size, Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
			}},
		})
		time.Sleep(10 * time.Minute)
		if got := r.Provisioner("default").Status.Resources.Cpu().Value(); got > 4 {
			t.Errorf("%d CPUs count towards the limit, want those of one machine", got)
		}
		r.until("the node that expired is replaced", r.gone(first))
		r.until("the workload runs", r.allRun("web", 1))
		r.DeleteProvisioner("default")
		r.until("the Provisioner is gone", func() bool { return r.Provisioner("default") == nil && len(r.Machines()) == 0 })
		if n := r.node("managed"); n == nil || n.DeletionTimestamp != nil {
			t.Error("the node of others is gone")
		}
	})
}

// An admission webhook hangs when the nodes of many machines that are gone are deleted, or when the lost marks of
// many nodes are put back. Pods that wait get a machine meanwhile.
func TestNodesOfManyMachinesAreSlowToChange(t *testing.T) {
	for call, lose := range map[string]func(r *rig, node *corev1.Node){
		"DeleteNode": func(r *rig, node *corev1.Node) { r.TerminateInstance(path.Base(node.Spec.ProviderID)) },
		"PatchNode": func(r *rig, node *corev1.Node) {
			r.EditNode(node.Name, func(n *corev1.Node) { delete(n.Labels, api.LabelProvisioner) })
		},
	} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				var hangs, hung atomic.Bool
				r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }))
				r.start(Options{}, func(made string, when sim.When) error {
					if made == call && when == sim.Before && hangs.Load() {
						hung.Store(true)
						time.Sleep(15 * time.Second)
					}
					return nil
				})
				r.Deploy(sim.Workload{Name: "web", Replicas: 40, Spec: sim.Requests("1500m", "1Gi")})
				r.until("the workload runs", r.allRun("web", 40))
				r.until("all nodes are up", r.allUp)
				hangs.Store(true)
				for _, n := range r.ours() {
					lose(r, n)
				}
				r.until("a call hangs", hung.Load)
				bought := len(r.Launches())
				r.Deploy(sim.Workload{Name: "more", Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
				if took := r.until("a machine is bought", func() bool { return len(r.Launches()) > bought }); took > time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// Once AWS has refused for an hour to terminate an instance, which a person may have protected, its node holds up nothing
// else: neither budgets nor the replacement of dead nodes count it.
func TestInstanceThatIsProtectedFromTermination(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var refuses atomic.Bool
		r.Apply(testProvisioner("default"))
		a := r.start(Options{}, failing("Terminate", &refuses, "OperationNotPermitted"))
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		r.until("the workload runs", r.allRun("web", 1))
		old := r.ours()[0].Name
		refuses.Store(true)
		r.DeleteNode(old)
		holdsUp := func() bool { n := a.snapshot().Node(old); return n == nil || !n.Unterminated }
		r.never(59*time.Minute, "the node counts for too short a time", func() bool { return !holdsUp() })
		r.until("the node does not count any more", func() bool { return !holdsUp() })
		refuses.Store(false)
		r.until("the node is gone", r.gone(old))
	})
}

// The cache of nodes stands still while a machine starts whose network plugin takes long. A pod of a DaemonSet runs there, but
// that the cache does not show the Node object does not mean that it was lost.
func TestStartingMachineWithStaleNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.PodBinding = api.BindScheduler }))
		var fails atomic.Bool
		process := r.Connect(failing("PatchNode", &fails, "the API server is down"))
		f := &frozen{Cluster: process.Cluster, nodes: true}
		r.startOn(f, process.Cloud, Options{})
		r.Deploy(two())
		r.until("the machine has a node", func() bool { return len(r.ours()) == 1 })
		name := r.ours()[0].Name
		r.until("its kubelet registers", func() bool { return r.node(name).Status.Conditions[0].Status == corev1.ConditionTrue })
		ready := func(is corev1.ConditionStatus) {
			r.EditNode(name, func(n *corev1.Node) { kubelet.SetReady(n, is, "KubeletReady", metav1.Now()) })
		}
		ready(corev1.ConditionFalse)
		r.AddPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kube-proxy", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "DaemonSet", Name: "kube-proxy", UID: "ds", Controller: ptr.To(true),
		}}}, Spec: corev1.PodSpec{NodeName: name}})
		fails.Store(true)
		time.Sleep(time.Minute)
		fails.Store(false)
		time.Sleep(20 * time.Second)
		ready(corev1.ConditionTrue)
		f.thaw()
		r.until("the pods run", r.allRun("web", 2))
		time.Sleep(5 * time.Minute)
		if n := r.node(name); len(r.Launches()) != 1 || n == nil || n.Spec.Unschedulable {
			t.Errorf("%d machines were bought; the first node: %v", len(r.Launches()), n)
		}
	})
}
