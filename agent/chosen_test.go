package agent

import (
	"context"
	"fmt"
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
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A node that is marked as going is judged again until it goes.
func TestChosenNodeIsJudgedAgain(t *testing.T) {
	load := sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")}
	for name, change := range map[string]func(r *rig, node string){
		"the lifetime is raised": func(r *rig, _ string) { r.Apply(testProvisioner("default", expireAfter(100_000))) },
		"a pod must not be disturbed any more": func(r *rig, node string) {
			r.stray("precious", node, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.served(testProvisioner("default", expireAfter(600)), load)
				old := r.ours()[0].Name
				r.until("the node is marked", func() bool { return r.node(old).Annotations[api.AnnotationDisruption] != "" })
				change(r, old)
				r.until("the node is kept", func() bool { return len(r.Events(event.Kept)) > 0 })
				n := r.node(old)
				if n.Annotations[api.AnnotationDisruption] != "" || len(n.Spec.Taints) > 0 {
					t.Errorf("the mark is still there: %v %v", n.Annotations, n.Spec.Taints)
				}
				r.never(time.Minute, "the node goes", r.gone(old))
			})
		})
	}
}

// While a disruption budget allows no eviction, a marked node waits undrained, but not for ever: its replacement is
// paid for, and no other node may go.
func TestChosenNodeWaitsForBudget(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(600)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		old := r.ours()[0].Name
		marked := func() bool { return r.node(old).Annotations[api.AnnotationDisruption] != "" }
		r.until("the node is marked", marked)
		r.Protect(sim.Budget{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: 2})
		r.never(10*time.Minute, "the node is deleted or kept", func() bool { return r.node(old).DeletionTimestamp != nil || !marked() })
		took := r.until("the node is kept", func() bool { return !marked() })
		if took > 21*time.Minute || !slices.ContainsFunc(r.Events(event.Kept), func(e sim.Event) bool { return strings.Contains(e.Message, "PodDisruptionBudget default/web") }) {
			t.Errorf("it was kept after %s more, and was told %v", took, r.Events(event.Kept))
		}
		r.never(time.Hour, "the node is chosen again", marked)
		r.Protect(sim.Budget{Name: "web", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
		r.until("the node is gone", r.gone(old))
		r.until("the workload runs", r.allRun("web", 2))
	})
}

// A node whose deletion a policy forbids does not stay tainted for ever, nor does its replacement stay paid for.
func TestChosenNodeThatCannotBeDeleted(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		var refuses atomic.Bool
		refuses.Store(true)
		r.Apply(testProvisioner("default", expireAfter(600), emptyAfter(30)))
		var old string
		a := r.start(Options{}, func(call string, when sim.When) error {
			if call == "DeleteNode" && when == sim.Before && refuses.Load() {
				return fmt.Errorf("delete node: %w: forbidden", cluster.ErrRefused)
			}
			return nil
		})
		r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		r.until("the workload runs", r.allRun("web", 2))
		r.until("all nodes are up", r.allUp)
		old = r.ours()[0].Name
		marked := func() bool { return r.node(old).Annotations[api.AnnotationDisruption] != "" }
		r.until("the node is marked", marked)
		if took := r.until("the node is kept", func() bool { return !marked() && len(r.node(old).Spec.Taints) == 0 }); took > 35*time.Minute {
			t.Errorf("it was kept after %s", took)
		}
		if !slices.ContainsFunc(r.Events(event.Kept), func(e sim.Event) bool { return strings.Contains(e.Message, "forbidden") }) {
			t.Errorf("it was told %v", r.Events(event.Kept))
		}
		r.until("it is counted", func() bool { return gauge(t, a.metrics, "removals_refused", "node") > 0 })
		refuses.Store(false)
		r.until("the node is gone", r.gone(old))
		r.until("it is not counted", func() bool { return gauge(t, a.metrics, "removals_refused", "node") == 0 })
		r.until("the workload runs", r.allRun("web", 2))
	})
}

// A node that expires just before its window closes is replaced in the next one. A machine that came up after the
// window has closed would be idle until then.
func TestExpiryAtTheEndOfAWindow(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		p := testProvisioner("default", expireAfter(600), emptyAfter(30))
		r.served(p, sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		old := r.ours()[0]
		due := old.CreationTimestamp.Add(600 * time.Second).UTC()
		opens := due.Truncate(time.Hour)
		window := api.Window{Schedule: fmt.Sprintf("0 %d * * *", opens.Hour()), Duration: metav1.Duration{Duration: due.Add(20 * time.Second).Sub(opens)}}
		p.Spec.Disruption = &api.Disruption{Windows: []api.Window{window}}
		r.Apply(p)
		r.never(time.Until(opens.Add(24*time.Hour-time.Second)), "a machine is bought that is not used", func() bool { return len(r.Machines()) != 1 })
		r.until("the node is gone", r.gone(old.Name))
		r.until("the workload runs on one machine", func() bool { return r.allRun("web", 2)() && len(r.ours()) == 1 })
	})
}

// The replacements of nodes that go do not let more nodes go, neither while they are starting nor while the old
// nodes are drained.
func TestBudgetDuringReplacement(t *testing.T) {
	inBubble(t, sim.Options{BootTime: 5 * time.Minute, StopTime: 20 * time.Second}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(1200), func(s *api.ProvisionerSpec) {
			s.InstanceTypes = []string{"c5.large"}
			s.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: "50%"}}}
		}), sim.Workload{Name: "web", Replicas: 20, Spec: sim.Requests("800m", "1Gi")})
		old := r.ours()
		if len(old) != 10 {
			t.Fatalf("%d nodes, want 10", len(old))
		}
		r.Protect(sim.Budget{Name: "slow", Selector: map[string]string{"app": "web"}, MinAvailable: 19}) // drains take a while
		most := 0
		r.until("all nodes are replaced", func() bool {
			leaving, there := 0, false
			for _, n := range r.ours() {
				there = there || slices.ContainsFunc(old, func(o *corev1.Node) bool { return o.Name == n.Name })
				tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&drain.Taint) })
				if tainted && r.count("web", func(p *corev1.Pod) bool { return isRunning(p) && p.Spec.NodeName == n.Name }) > 0 {
					leaving++
				}
			}
			most = max(most, leaving)
			return !there
		})
		if most != 5 {
			t.Errorf("%d nodes were leaving at the same time, want half of 10", most)
		}
	})
}

// A node whose kubelet falls silent is replaced. When many do, none is, whatever else speaks for its end: Kubernetes has
// evicted their pods, so that they seem to be empty, and they grow old.
func TestUnhealthyNodes(t *testing.T) {
	spread := sim.Workload{Name: "web", Replicas: 10, Spec: sim.Requests("1500m", "1Gi")}
	small := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }
	consolidates := func(s *api.ProvisionerSpec) { s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)} }
	for name, c := range map[string]struct {
		silent   int
		edits    []func(*api.ProvisionerSpec)
		options  Options
		replaced bool
		says     string // the status, of a node that stays
	}{
		"two of ten":                           {silent: 2, replaced: true},
		"three of ten":                         {silent: 3, says: "more than a fifth"},
		"three of ten, and empty nodes go":     {silent: 3, says: "more than a fifth", edits: []func(*api.ProvisionerSpec){emptyAfter(30)}},
		"three of ten, and old nodes go":       {silent: 3, says: "it is not ready", edits: []func(*api.ProvisionerSpec){expireAfter(1200)}},
		"three of ten, and expensive nodes go": {silent: 3, says: "more than a fifth", edits: []func(*api.ProvisionerSpec){consolidates}},
		"two of ten, and unready nodes stay":   {silent: 2, edits: []func(*api.ProvisionerSpec){emptyAfter(30)}, options: Options{Settings: decide.Settings{Policy: retire.Policy{UnhealthyAfter: -time.Second}}}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", append(c.edits, small)...))
				a := r.start(c.options, nil)
				r.Deploy(spread)
				r.until("the workload runs", func() bool { return r.allRun("web", 10)() && r.allUp() })
				nodes := r.ours()[:c.silent]
				for _, n := range nodes {
					r.StopKubelet(n.Name, 2*time.Hour)
				}
				goes := func(n *corev1.Node) bool { now := r.node(n.Name); return now == nil || now.DeletionTimestamp != nil }
				if !c.replaced {
					r.never(time.Hour, "a silent node goes", func() bool { return slices.ContainsFunc(nodes, goes) })
					r.until("the workload runs elsewhere", func() bool { return r.count("web", isRunning) == 10 })
					if got := a.leavingOf(nodes[0].Name).What; !strings.Contains(got, c.says) || c.says == "" && got != "" {
						t.Errorf("the status says %q, want %q", got, c.says)
					}
					return
				}
				took := r.until("the nodes are gone", func() bool { return r.node(nodes[0].Name) == nil && r.node(nodes[1].Name) == nil })
				if took < 10*time.Minute || took > 20*time.Minute {
					t.Errorf("it took %s, want 10 min of tolerance and 5 of patience with the kubelet", took)
				}
				r.until("the workload runs", r.allRun("web", 10))
			})
		})
	}
}

// Pods that wait get machines while so many nodes are silent that none is replaced.
func TestPodsDoNotWaitForSilentNodes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		small := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }
		r.served(testProvisioner("default", small), sim.Workload{Name: "web", Replicas: 4, Spec: sim.Requests("1200m", "1Gi")})
		for _, n := range r.ours() {
			r.StopKubelet(n.Name, 2*time.Hour)
		}
		r.Deploy(sim.Workload{Name: "more", Replicas: 4, Spec: sim.Requests("400m", "500Mi")}) // which would fit on these nodes
		if took := r.until("the new pods run", r.allRun("more", 4)); took > 5*time.Minute {
			t.Errorf("it took %s, want a boot", took)
		}
	})
}

// The termination grace period counts from the deletion, whoever leads.
func TestGracePeriodSurvivesRestarts(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		p := testProvisioner("default", func(s *api.ProvisionerSpec) {
			s.Disruption = &api.Disruption{TerminationGracePeriod: ptr.To(metav1.Duration{Duration: 10 * time.Minute})}
		})
		first := r.served(p, sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		r.Protect(sim.Budget{Name: "never", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
		old := r.ours()[0].Name
		r.DeleteNode(old)
		time.Sleep(6 * time.Minute)
		first.kill()
		r.start(Options{}, nil)
		if took := r.until("the node is gone", r.gone(old)); took < 3*time.Minute || took > 5*time.Minute {
			t.Errorf("the drain took %s after the restart, want what was left of 10 min", took)
		}
	})
}

// poolCluster is a cluster whose Provisioners are NodePools: no finalizer holds them.
type poolCluster struct{ *sim.Cluster }

func (poolCluster) SetProvisionerFinalizer(context.Context, string, bool) error { return nil }

// The termination grace period also ends drains that begin without the Provisioner, because it is gone or
// cannot be read.
func TestGracePeriodWithoutProvisioner(t *testing.T) {
	for name, begin := range map[string]func(r *rig, node string){
		"it is gone": func(r *rig, _ string) { r.DeleteProvisioner("default") },
		"it cannot be read": func(r *rig, node string) {
			r.Remark("default", finding.List{{Severity: finding.Error, Path: "spec", Text: finding.Plain("must be an object")}})
			time.Sleep(time.Minute)
			r.DeleteNode(node)
		},
		"it is a NodePool that cannot be read, and Karpenter runs": func(r *rig, node string) {
			refused := testProvisioner("default")
			refused.Source = &api.Origin{
				APIVersion: "karpenter.sh/v1", Kind: api.NodePoolKind, Waits: "Karpenter is running",
				Unsupported: []api.Unsupported{{Path: "spec.template", Text: "must be an object"}},
			}
			r.Apply(refused)
			time.Sleep(time.Minute)
			r.DeleteNode(node)
		},
		"it is gone, and an earlier agent has made the node": func(r *rig, node string) {
			change := cluster.NodeChange{RemoveAnnotations: []string{api.AnnotationGracePeriod}}
			if err := r.Connect(nil).Cluster.PatchNode(r.Context(), node, change); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			r.DeleteProvisioner("default")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.Apply(testProvisioner("default", bounded(10*time.Minute)))
				process := r.Connect(nil)
				r.startOn(poolCluster{process.Cluster}, process.Cloud, Options{})
				r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
				r.until("the workload runs", r.allRun("web", 1))
				r.Protect(sim.Budget{Name: "never", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
				old := r.ours()[0].Name
				begin(r, old)
				if took := r.until("the node is gone", r.gone(old)); took < 10*time.Minute || took > 11*time.Minute {
					t.Errorf("the drain took %s, want the grace period of 10 min", took)
				}
			})
		})
	}
}

// While a Provisioner that has no termination grace period is being deleted, one can be set on its nodes: Terraform can
// no longer set one on it.
func TestGracePeriodOfANodeWhoseProvisionerGoes(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("300m", "300Mi")})
		r.Protect(sim.Budget{Name: "never", Selector: map[string]string{"app": "web"}, MinAvailable: 1})
		old := r.ours()[0].Name
		limit := cluster.NodeChange{SetAnnotations: map[string]string{api.AnnotationGracePeriod: "1m"}}
		r.DeleteProvisioner("default")
		r.until("the node is being drained", func() bool { return r.node(old).DeletionTimestamp != nil })
		if err := r.Connect(nil).Cluster.PatchNode(r.Context(), old, limit); err != nil {
			t.Fatal(err)
		}
		r.until("nothing is left", func() bool { return r.nothingLeft() && r.Provisioner("default") == nil })
	})
}

// A node that was chosen to go and waits is not forgotten when its Provisioner is
// deleted.
func TestChosenNodeOfDeletedProvisioner(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.served(testProvisioner("default", expireAfter(600)), sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("700m", "1Gi")})
		old := r.ours()[0].Name
		r.until("the node is marked", func() bool { return r.node(old).Annotations[api.AnnotationDisruption] != "" })
		r.DeleteProvisioner("default")
		r.until("nothing is left", func() bool { return r.nothingLeft() && r.Provisioner("default") == nil })
	})
}

// A node whose replacement is still being bought uses up a disruption budget, also while it is protected for
// a moment and no plan chooses it.
func TestBudgetWhileReplacementIsBought(t *testing.T) {
	inBubble(t, sim.Options{LaunchTime: 40 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default", expireAfter(600), func(s *api.ProvisionerSpec) {
			s.InstanceTypes = []string{"m5.large"}
			s.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: "1"}}, Drift: ptr.To(false)}
		}))
		var first atomic.Value
		r.start(Options{Decide: func(in decide.Input) decide.Plan {
			plan := decide.Decide(in)
			for _, removal := range plan.Removals {
				first.CompareAndSwap(nil, removal.Node)
			}
			return plan
		}}, nil)
		for _, name := range []string{"a", "b"} {
			r.Deploy(sim.Workload{Name: name, Replicas: 1, Spec: sim.Requests("1500m", "1Gi")})
		}
		r.until("both run", func() bool { return r.allRun("a", 1)() && r.allRun("b", 1)() && len(r.ours()) == 2 })
		r.until("the replacement of the first is ordered", func() bool { return first.Load() != nil })
		time.Sleep(5 * time.Second)
		app := ""
		for _, p := range r.Pods() {
			if p.Spec.NodeName == first.Load() {
				app = p.Labels["app"]
			}
		}
		protect := func(available int) {
			r.Protect(sim.Budget{Name: "moment", Selector: map[string]string{"app": app}, MinAvailable: available})
		}
		protect(1)
		time.Sleep(20 * time.Second)
		protect(0)
		r.never(5*time.Minute, "two nodes go at the same time", func() bool {
			going := 0
			for _, n := range r.ours() {
				on := func(p *corev1.Pod) bool { return p.Spec.NodeName == n.Name }
				if n.Annotations[api.AnnotationDisruption] != "" && r.count("a", on)+r.count("b", on) > 0 {
					going++
				}
			}
			return going > 1
		})
	})
}
