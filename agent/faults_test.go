package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// agrees reports whether machines and nodes correspond and all nodes are up.
func (r *rig) agrees() bool { return len(r.Machines()) == len(r.ours()) && r.allUp() }

// A machine that registers under another name than was expected is replaced when
// its time is over, with both of its Node objects.
func TestBootsUnderAnotherName(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var first string
		r.BootsAs(func(i offer.Instance) string {
			if first == "" {
				first = i.ID
			}
			if i.ID == first {
				return "other-" + i.NodeName
			}
			return ""
		})
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		r.until("the other name is known", func() bool { return len(r.ours()) == 2 })
		r.until("the workload runs", r.allRun("web", 2))
		r.until("machines and nodes agree", r.agrees)
		if cut := r.CutOff(); len(cut) > 0 {
			t.Errorf("pods were ended without asking: %v", cut)
		}
	})
}

// A kubelet that registers again while its machine is ending leaves nothing behind,
// also where the agent that gave the machine back is dead.
func TestKubeletComesBack(t *testing.T) {
	for name, restart := range map[string]bool{"the same agent": false, "another agent": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{ShutdownTime: 30 * time.Second}, func(r *rig) {
				a := r.served(testProvisioner("default", emptyAfter(0)), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
				r.Scale("web", 0)
				r.until("the node is gone", func() bool { return len(r.ours()) == 0 })
				if restart {
					a.kill()
				}
				r.until("it has come back", func() bool { return len(r.Nodes()) == 1 })
				if restart {
					time.Sleep(time.Minute)
					r.start(Options{}, nil)
				}
				if took := r.until("nothing is left", func() bool { return len(r.Nodes()) == 0 && len(r.Machines()) == 0 }); took > 3*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// Kubelets that register again while their machines are ending say nothing of new machines: the next ones are
// bought at once.
func TestKubeletsComeBackBeforeAPurchase(t *testing.T) {
	inBubble(t, sim.Options{ShutdownTime: 30 * time.Second}, func(r *rig) {
		small := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }
		r.served(testProvisioner("default", emptyAfter(0), small), sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("1500m", "1Gi")})
		for left := 2; left >= 0; left-- {
			r.Scale("web", left)
			r.until("a node is gone", func() bool { return len(r.ours()) == left })
			r.until("its kubelet has come back", func() bool { return len(r.Nodes()) == left+1 })
			r.until("its machine is gone", func() bool { return len(r.Nodes()) == left && len(r.Machines()) == left })
		}
		r.Scale("web", 3)
		if took := r.until("the workload runs", r.allRun("web", 3)); took > time.Minute {
			t.Errorf("it took %s, want a boot", took)
		}
	})
}

// A change that a policy refuses for each node is tried again after longer and longer pauses, and made once the policy
// permits it. Turns take the nodes together, although their pauses begin at different times.
func TestRefusedNodeChangesPause(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var refuses atomic.Bool
		var tries atomic.Int64
		refused := refusing("PatchNode", fmt.Errorf("%w: by a policy", cluster.ErrRefused), &tries)
		small := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }
		r.Apply(testProvisioner("default", small))
		const nodes = 20
		a := r.start(Options{}, func(call string, when sim.When) error {
			if !refuses.Load() {
				return nil
			}
			err := refused(call, when)
			if err != nil { // requests queue up: the answers come one after the other
				time.Sleep(time.Duration(tries.Load()%nodes) * 100 * time.Millisecond)
			}
			return err
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: nodes, Spec: sim.Requests("1500m", "1Gi")})
		r.until("the workload runs", r.allRun("web", nodes))
		r.until("all nodes are up", func() bool { return len(r.ours()) == nodes && r.allUp() })
		time.Sleep(time.Minute)
		refuses.Store(true)
		r.Apply(testProvisioner("default", small, func(s *api.ProvisionerSpec) {
			s.Disruption = &api.Disruption{TerminationGracePeriod: ptr.To(metav1.Duration{Duration: 10 * time.Minute})}
		}))
		turns := gauge(t, a.metrics, "turns_total")
		time.Sleep(10 * time.Minute)
		if got := gauge(t, a.metrics, "turns_total") - turns; got > 60 {
			t.Errorf("%v turns in ten minutes, want one in ten seconds at most", got)
		}
		if got := tries.Load(); got < 10*nodes || got > 16*nodes {
			t.Errorf("%d attempts with %d nodes in ten minutes, want about 15 for each", got, nodes)
		}
		refuses.Store(false)
		noted := func() bool {
			return !slices.ContainsFunc(r.ours(), func(n *corev1.Node) bool { return n.Annotations[api.AnnotationGracePeriod] == "" })
		}
		if took := r.until("the nodes have the annotation", noted); took > 2*time.Minute {
			t.Errorf("the change was made after %s", took)
		}
	})
}

// Half of all calls to the cloud are throttled: all pods get their machines, and
// nothing is bought twice.
func TestThrottledCloud(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", emptyAfter(30)))
		var mu sync.Mutex
		random := rand.New(rand.NewPCG(1, 0))
		r.start(Options{}, func(call string, when sim.When) error {
			mu.Lock()
			defer mu.Unlock()
			switch call {
			case "Market", "Launch", "Instances", "Terminate", "Sweep", "Forget":
				if when == sim.Before && random.IntN(2) == 0 {
					return errors.New("request limit exceeded")
				}
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 30, Spec: sim.Requests("700m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 30))
		r.until("machines and nodes agree", r.agrees)
		if unused := r.Unused(); len(unused) > 0 {
			t.Errorf("bought for nothing: %v", unused)
		}
		r.Scale("web", 0)
		r.until("nothing is left", r.nothingLeft)
	})
}

// The clocks of the API server and the cloud are a minute off.
func TestClockSkew(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ahead": time.Minute, "behind": -time.Minute} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{Skew: skew}, func(r *rig) {
				r.served(testProvisioner("default", emptyAfter(30), expireAfter(1200)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
				old := r.ours()[0].Name
				took := r.until("it expires", r.gone(old))
				if took < 17*time.Minute || took > 23*time.Minute {
					t.Errorf("a node of 20 min went after %s", took)
				}
				r.until("the workload runs", r.allRun("web", 2))
				r.Scale("web", 0)
				r.until("nothing is left", r.nothingLeft)
			})
		})
	}
}

// A leader that is cut off from the cluster loses its lease, and another takes
// over; the first does nothing any more, not even in the cloud.
func TestPartitionedLeader(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		var cut atomic.Bool
		var replicas [2]*Agent
		for i := range replicas {
			process := r.Connect(func(call string, when sim.When) error {
				if i == 0 && cut.Load() && when == sim.Before && call != "Launch" && call != "Instances" && call != "Terminate" {
					return errors.New("the connection timed out")
				}
				return nil
			})
			replicas[i] = New(process.Cluster, process.Cloud, Options{}, r.log)
			go func() { _ = process.Cluster.Lead(r.Context(), func(ctx context.Context) { _ = replicas[i].Run(ctx) }) }()
			r.until("the first leads", replicas[0].leading.Load)
		}
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("700m", "1Gi")})
		time.Sleep(600 * time.Millisecond) // the launch call is under way
		cut.Store(true)
		time.Sleep(10 * time.Second)
		r.LoseLease()
		r.until("the other leads", replicas[1].leading.Load)
		r.until("the workload runs", r.allRun("web", 3))
		r.until("machines and nodes agree", r.agrees)
		if calls := r.Usurped(); len(calls) > 0 {
			t.Errorf("the first acted without the lease: %v", calls)
		}
		if got := len(r.Machines()); got > 1 {
			t.Errorf("%d machines, want the one that the first bought", got)
		}
	})
}

// choosy is an API server with an admission policy that refuses the Node objects of a Provisioner.
type choosy struct {
	Cluster
	refuses *atomic.Bool
	name    string
}

func (c choosy) CreateNode(ctx context.Context, node *corev1.Node, taints ...corev1.Taint) (bool, error) {
	if c.refuses.Load() && node.Labels[api.LabelProvisioner] == c.name {
		return false, errors.New("denied by the policy no-strangers")
	}
	return c.Cluster.CreateNode(ctx, node, taints...)
}

// A Node object that the API server refuses keeps its own Provisioner from buying, and says why. The others
// go on. Its machine counts, so that nothing is bought for the same pods once it is let in.
func TestRefusedNodeHoldsBackItsProvisionerOnly(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("strange"))
		r.Apply(testProvisioner("usual"))
		r.NeverBoots(func(i offer.Instance) bool { return i.Provisioner == "strange" })
		var refuses atomic.Bool
		refuses.Store(true)
		process := r.Connect(nil)
		r.startOn(choosy{process.Cluster, &refuses, "strange"}, process.Cloud, Options{})
		machines := func(provisioner string) (n int) {
			for _, m := range r.Machines() {
				if m.Provisioner == provisioner {
					n++
				}
			}
			return n
		}
		r.Deploy(sim.Workload{Name: "strange", Replicas: 1, Spec: on("strange", sim.Requests("900m", "1Gi"))})
		r.until("the refusal is told", func() bool { return len(r.Events(event.NodeRefused)) > 0 })
		r.Deploy(sim.Workload{Name: "usual", Replicas: 3, Spec: on("usual", sim.Requests("900m", "1Gi"))})
		if took := r.until("the others run", r.allRun("usual", 3)); took > 2*time.Minute {
			t.Errorf("it took %s", took)
		}
		r.Scale("strange", 8)
		r.never(8*time.Minute, "more machines are bought that would be refused", func() bool { return machines("strange") != 1 })
		if c := r.ready("strange"); c.Reason != view.ReasonNodeless || !strings.Contains(c.Message, "no-strangers") {
			t.Errorf("condition %+v, want the words of the API server", c)
		}
		if c := r.ready("usual"); c.Status != metav1.ConditionTrue {
			t.Errorf("condition of the other Provisioner: %+v", c)
		}
		if n := len(r.Events(event.NodeRefused)); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		r.NeverBoots(nil)
		refuses.Store(false)
		r.until("all run", r.allRun("strange", 8))
		r.until("machines and nodes agree", r.agrees)
	})
}

// tardy is an API server that creates Node objects minutes after it was asked to, and counts bindings.
type tardy struct {
	Cluster
	bindings atomic.Int32
}

func (c *tardy) CreateNode(ctx context.Context, node *corev1.Node, taints ...corev1.Taint) (bool, error) {
	time.Sleep(5 * time.Minute)
	return c.Cluster.CreateNode(ctx, node, taints...)
}

func (c *tardy) Bind(ctx context.Context, pod cluster.PodKey, node string) error {
	c.bindings.Add(1)
	return c.Cluster.Bind(ctx, pod, node)
}

// Where the kubelet has registered its node before the agent could, kube-scheduler places pods there. The
// agent binds none besides, because the room may be taken.
func TestReadyNodeIsLeftToTheScheduler(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		process := r.Connect(nil)
		slow := &tardy{Cluster: process.Cluster}
		r.startOn(slow, process.Cloud, Options{})
		r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("700m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 3))
		r.until("the node is the agent's", func() bool { return len(r.ours()) > 0 && r.allUp() })
		if n := slow.bindings.Load(); n > 0 {
			t.Errorf("the agent has bound %d pods to a ready node", n)
		}
	})
}

// foreign are machines whose user data is not the agent's, so that their kubelets know of no taints.
type foreign struct{ Cloud }

func (c foreign) Launch(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	o.Node.Taints = nil
	return c.Cloud.Launch(ctx, o)
}

// A kubelet with user data of the user's own may register before the agent has created the Node. The node gets
// the taints of its Provisioner nevertheless, and no startup taints, which nothing may remove any more.
func TestTaintsWhereUserDataIsNotOurs(t *testing.T) {
	for _, profile := range []string{`{"launchTemplate":"mine"}`, `{"amiFamily":"Custom","amiSelector":{"a":"b"}}`} {
		inBubble(t, sim.Options{}, func(r *rig) {
			dedicated := corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}
			r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) {
				s.Provider = &runtime.RawExtension{Raw: []byte(profile)}
				s.Taints, s.StartupTaints = []corev1.Taint{dedicated}, []corev1.Taint{{Key: "starting", Effect: corev1.TaintEffectNoSchedule}}
			}))
			process := r.Connect(nil)
			r.startOn(&tardy{Cluster: process.Cluster}, foreign{process.Cloud}, Options{})
			spec := sim.Requests("700m", "1Gi")
			spec.Tolerations = []corev1.Toleration{{Key: dedicated.Key, Operator: corev1.TolerationOpExists}}
			r.Deploy(sim.Workload{Name: "db", Replicas: 1, Spec: spec})
			r.until("the workload runs", r.allRun("db", 1))
			r.until("the node is the agent's", func() bool { return len(r.ours()) > 0 && r.allUp() })
			if taints := r.ours()[0].Spec.Taints; len(taints) != 1 || taints[0] != dedicated {
				t.Errorf("%s: the node has the taints %v, want those of its Provisioner", profile, taints)
			}
		})
	}
}
