package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/consolidation"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
)

func consolidates(edits ...func(*api.Disruption)) func(*api.ProvisionerSpec) {
	return func(s *api.ProvisionerSpec) {
		s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)}
		s.Disruption = &api.Disruption{Budgets: []api.Budget{{Nodes: "100%"}}}
		for _, e := range edits {
			e(s.Disruption)
		}
	}
}

// price is what the nodes cost together, in micro-dollars per hour.
func (r *rig) price() (total offer.Price) {
	for _, n := range r.ours() {
		total += offer.PriceOf(n.Annotations)
	}
	return total
}

// shrunk is a cluster that was made for 40 pods, of which four are left.
func (r *rig) shrunk(edits ...func(*api.Disruption)) *running {
	a := r.served(testProvisioner("default", consolidates(edits...)), sim.Workload{Name: "web", Replicas: 40, Spec: sim.Requests("900m", "1Gi")})
	r.Scale("web", 4)
	r.until("the others are gone", func() bool { return r.count("web", anyPod) == 4 })
	return a
}

// The cluster shrinks to what its pods need, and all pods run again.
func TestConsolidation(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.shrunk()
		before := r.price()
		for range 200 {
			time.Sleep(time.Minute)
			for _, n := range r.ours() {
				if n.DeletionTimestamp != nil {
					continue
				}
				for by := range strings.SplitSeq(n.Annotations[api.AnnotationReplacedBy], ",") {
					if by != "" && r.node(by) == nil {
						t.Errorf("node %s waits for %s, which is not there", n.Name, by)
					}
				}
			}
		}
		if !r.allRun("web", 4)() {
			t.Errorf("not all pods run: %s", r.describe())
		}
		if after := r.price(); after > before/4 {
			t.Errorf("the nodes cost %d, and %d before\n%s", after, before, r.describe())
		}
		if strays := len(r.Machines()) - len(r.ours()); strays != 0 {
			t.Errorf("%d machines without a node", strays)
		}
	})
}

// marked waits until a node is chosen for consolidation and waits for its replacement.
func (r *rig) marked() string {
	r.Helper()
	name := ""
	r.until("a node is chosen", func() bool {
		for _, n := range r.ours() {
			if n.Annotations[api.AnnotationDisruption] == api.ReasonConsolidation && n.Annotations[api.AnnotationReplacedBy] != "" {
				name = n.Name
			}
		}
		return name != ""
	})
	return name
}

// unmarked waits until the node is as if it had never been chosen.
func (r *rig) unmarked(name string) {
	r.Helper()
	r.until("the node is kept", func() bool {
		n := r.node(name)
		if n == nil || n.DeletionTimestamp != nil {
			r.Fatalf("node %s goes\n%s", name, r.describe())
		}
		return n.Annotations[api.AnnotationDisruption] == "" && len(n.Spec.Taints) == 0
	})
	n := r.node(name)
	for _, key := range []string{api.AnnotationReplacedBy, api.AnnotationDisruptedAt} {
		if n.Annotations[key] != "" {
			r.Errorf("annotation %s is still there", key)
		}
	}
}

// onLarge runs one small pod on a large node, which is replaced.
func (r *rig) onLarge(options Options, intercept sim.Intercept) *running {
	r.Helper()
	large := func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.4xlarge"} }
	r.Apply(testProvisioner("default", large))
	a := r.start(options, intercept)
	r.Deploy(sim.Workload{Name: "web", Replicas: 2, Spec: sim.Requests("900m", "1Gi")})
	r.until("the workload runs", r.allRun("web", 2))
	r.until("all nodes are up", r.allUp)
	r.Apply(testProvisioner("default", consolidates(func(d *api.Disruption) { d.Drift = ptr.To(false) })))
	return a
}

func TestConsolidationIsCalledOff(t *testing.T) {
	for name, change := range map[string]func(r *rig, node string){
		"DISR-015: the budget shrinks": func(r *rig, _ string) {
			r.Apply(testProvisioner("default", consolidates(func(d *api.Disruption) {
				d.Drift, d.Budgets = ptr.To(false), []api.Budget{{Nodes: "0"}}
			})))
		},
		"DISR-044: a pod comes that had not seen the taint": func(r *rig, node string) { time.Sleep(2 * time.Second); r.stray("late", node) },
		"a protected pod comes": func(r *rig, node string) {
			r.stray("precious", node, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} })
		},
		"consolidation is turned off": func(r *rig, _ string) { r.Apply(testProvisioner("default")) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				r.onLarge(Options{}, nil)
				node := r.marked()
				change(r, node)
				r.unmarked(node)
				r.never(10*time.Second, "the node goes", func() bool { return r.node(node).DeletionTimestamp != nil })
			})
		})
	}
}

// A pod that nobody would make again, or that ends by itself, keeps its node also if it comes while the
// replacement is being bought.
func TestPodComesWhileReplacementIsBought(t *testing.T) {
	ofJob := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "batch", UID: "job", Controller: ptr.To(true)}}
	}
	ofWorkflow := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Workflow", Name: "batch", UID: "workflow", Controller: ptr.To(true)}}
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	for name, c := range map[string]struct {
		launch time.Duration
		edits  []func(*corev1.Pod)
	}{
		"a pod without a controller":              {launch: 20 * time.Second},
		"a pod without a controller, soon bought": {launch: time.Second},
		"a pod of a Job":                          {launch: 20 * time.Second, edits: []func(*corev1.Pod){ofJob}},
		"a pod of a workflow":                     {launch: 20 * time.Second, edits: []func(*corev1.Pod){ofWorkflow}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{LaunchTime: c.launch}, func(r *rig) {
				var chosen atomic.Bool
				r.onLarge(Options{Decide: noting(&chosen, decide.Consolidated)}, nil)
				old := r.ours()[0].Name
				r.until("the replacement is ordered", chosen.Load)
				time.Sleep(c.launch / 3)
				r.stray("lone", old, c.edits...)
				r.never(time.Hour, "the pod ends", func() bool { return r.count("lone", isRunning) == 0 })
			})
		})
	}
}

// noting notes that a plan lets a node go for the reason.
func noting(chosen *atomic.Bool, reason decide.RemovalReason) func(decide.Input) decide.Plan {
	return func(in decide.Input) decide.Plan {
		plan := decide.Decide(in)
		if slices.ContainsFunc(plan.Removals, func(r decide.Removal) bool { return r.Reason == reason }) {
			chosen.Store(true)
		}
		return plan
	}
}

// A replacement that never comes up costs nothing but time.
func TestConsolidationWithoutReplacement(t *testing.T) { // CONS-012
	inBubble(t, sim.Options{}, func(r *rig) {
		r.onLarge(Options{}, nil)
		r.NeverBoots(func(offer.Instance) bool { return true })
		node := r.marked()
		r.unmarked(node)
		r.until("the replacement is gone", func() bool { return len(r.Machines()) == 1 })
		if !r.allRun("web", 2)() {
			t.Error("the pods were moved")
		}
	})
}

// A machine that takes longer to buy than a turn waits for it replaces the node nevertheless,
// and is bought once. Nodes in use are looked at rarely, as in a cluster where a look takes long.
func TestConsolidationWaitsForSlowPurchases(t *testing.T) { // CONS-001
	inBubble(t, sim.Options{LaunchTime: 20 * time.Second}, func(r *rig) {
		var looked time.Time
		r.onLarge(Options{Decide: func(in decide.Input) decide.Plan {
			if in.NotConsolidated = in.NotConsolidated || in.Now.Before(looked.Add(5*time.Minute)); !in.NotConsolidated {
				looked = in.Now
			}
			return decide.Decide(in)
		}}, nil)
		before := len(r.Launches())
		node := r.marked()
		by := r.node(node).Annotations[api.AnnotationReplacedBy]
		r.until("the node goes", func() bool { return r.node(node).DeletionTimestamp != nil })
		if n := r.node(by); n == nil || n.Labels[api.LabelInitialized] != "true" {
			t.Errorf("the node goes before %s is up", by)
		}
		r.until("the node is gone", r.gone(node))
		r.until("the workload runs", r.allRun("web", 2))
		r.never(10*time.Minute, "another machine", func() bool { return len(r.Launches()) != before+1 })
		if !r.agrees() || len(r.Machines()) != 1 {
			t.Error(r.describe())
		}
	})
}

// Where a cheaper machine cannot be had, the node is not touched until another is.
func TestConsolidationWithoutCapacity(t *testing.T) { // DISR-038
	inBubble(t, sim.Options{}, func(r *rig) {
		r.onLarge(Options{}, nil)
		old := r.ours()[0].Name
		for _, zone := range stock.Zones {
			for _, capacity := range []string{api.CapacityOnDemand, api.CapacitySpot} {
				r.Capacity("c5.large", zone, capacity, 0)
				r.Capacity("c5.xlarge", zone, capacity, 0)
			}
		}
		r.until("the node is replaced", r.gone(old))
		for _, n := range r.ours() {
			if it := n.Labels[api.LabelInstanceType]; strings.HasPrefix(it, "c5.large") || strings.HasPrefix(it, "c5.xlarge") {
				t.Errorf("bought %s, of which there is none", it)
			}
		}
		r.until("the workload runs", r.allRun("web", 2))
	})
}

// What the caches do not show yet is read before a node goes: a pod that came to it keeps
// an empty node, and one that is emptied.
func TestPodsAreReadWithoutCaches(t *testing.T) { // DISR-043
	for name, c := range map[string]struct {
		given func(*rig)
	}{
		"an empty node": {func(r *rig) {
			r.served(testProvisioner("default", consolidates()), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("900m", "1Gi")})
			r.Scale("web", 0)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{Lag: 2 * time.Second}, func(r *rig) {
				c.given(r)
				node := r.ours()[0].Name
				r.until("it is chosen", func() bool { return r.node(node).Annotations[api.AnnotationDisruption] != "" })
				r.stray("precious", node, func(p *corev1.Pod) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} })
				r.unmarked(node)
				r.never(time.Minute, "the node goes", func() bool { return r.node(node).DeletionTimestamp != nil })
			})
		})
	}
}

// A leader that ends in the middle of a step leaves nothing that its successor does not
// finish or undo.
func TestConsolidationSurvivesKills(t *testing.T) {
	for _, call := range []string{"Launch", "CreateNode", "PatchNode", "PodsOn", "DeleteNode", "Evict", "Terminate"} {
		for _, when := range []sim.When{sim.Before, sim.After} {
			for n := 1; n <= 2; n++ {
				inBubble(t, sim.Options{}, func(r *rig) {
					r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 40, Spec: sim.Requests("900m", "1Gi")}).kill()
					r.Scale("web", 4)
					r.Apply(testProvisioner("default", consolidates()))
					before := r.price()
					first := r.killAt(call, when, n)
					time.Sleep(5 * time.Minute)
					first.kill() // which the call has not done if it came less often
					r.start(Options{}, nil)
					time.Sleep(2 * time.Hour)
					if !r.allRun("web", 4)() || len(r.Machines()) != len(r.ours()) || r.price() > before/4 {
						t.Errorf("killed at %s %d (%s): not all is as it should be\n%s", call, n, when, r.describe())
					}
					for _, n := range r.ours() {
						if len(n.Spec.Taints) > 0 || n.Annotations[api.AnnotationDisruption] != "" {
							t.Errorf("killed at %s: node %s is still marked", call, n.Name)
						}
					}
				})
			}
		}
	}
}

// marker is a cluster of which a test says which of the changes that mark nodes fail.
type marker struct {
	Cluster
	fails func(marks bool) error // or removes a mark
}

func (m *marker) PatchNode(ctx context.Context, node string, change cluster.NodeChange) error {
	if marks := len(change.AddTaints) > 0; marks || len(change.RemoveTaints) > 0 {
		if err := m.fails(marks); err != nil {
			return err
		}
	}
	return m.Cluster.PatchNode(ctx, node, change)
}

// onThree runs a pod on each of three nodes. One machine would cost less than these; two of them would not.
func (r *rig) onThree(m *marker) *running {
	r.Helper()
	r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"c5.large"} }))
	process := r.Connect(nil)
	m.Cluster = process.Cluster
	first := r.startOn(m, process.Cloud, Options{})
	first.process = process
	r.Deploy(sim.Workload{Name: "web", Replicas: 3, Spec: sim.Requests("1100m", "1Gi")})
	r.until("the workload runs", r.allRun("web", 3))
	r.until("all nodes are up", r.allUp)
	if len(r.ours()) != 3 {
		r.Fatalf("%d nodes, want 3\n%s", len(r.ours()), r.describe())
	}
	r.Apply(testProvisioner("default", consolidates(func(d *api.Disruption) {
		d.Drift, d.EvictionCost = ptr.To(false), ptr.To(api.NumberOrNever("0.01"))
	})))
	return first
}

// Of the nodes of a step, only some are marked, because the agent ends or a change fails. None of them goes without the
// others, and all go once they can be marked.
func TestStepThatIsMarkedInPart(t *testing.T) {
	away := errors.New("the API server is away")
	for name, killed := range map[string]bool{"the agent is killed": true, "the others cannot be marked, nor the mark be removed": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{}, func(r *rig) {
				var begun, broken atomic.Bool // a node has been marked, and no other change works
				broken.Store(true)
				m := &marker{fails: func(marks bool) error {
					if marks && begun.CompareAndSwap(false, true) || !broken.Load() || !begun.Load() {
						return nil
					}
					return away
				}}
				a := r.onThree(m)
				old := r.ours()
				inPart := func() bool { // a node goes, and another one is not even marked
					going, unmarked := false, false
					for _, n := range old {
						now := r.node(n.Name)
						going = going || now == nil || now.DeletionTimestamp != nil
						unmarked = unmarked || now != nil && now.Annotations[api.AnnotationDisruption] == ""
					}
					return going && unmarked
				}
				r.until("a node is marked", func() bool { return strings.Contains(r.describe(), api.AnnotationDisruptedWith) })
				if killed {
					a.kill()
					broken.Store(false)
					r.start(Options{}, nil)
				}
				r.never(10*time.Minute, "the step is carried out in part", inPart)
				broken.Store(false)
				r.never(20*time.Minute, "the step is carried out in part", inPart)
				r.until("all go", func() bool { return len(r.ours()) == 1 && r.allRun("web", 3)() })
			})
		})
	}
}

// A fault in what only makes plans cheaper does not keep pods from their machines, nor the agent from consolidation.
func TestPanicOfHeuristics(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		faults, looks := 0, 0
		r.log = hclog.NewNullLogger() // others fail a test that panics
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)} }))
		r.start(Options{Decide: func(in decide.Input) decide.Plan {
			if len(in.Settings.Without) == 0 {
				faults++
				panic("integer divide by zero")
			}
			if !in.NotConsolidated {
				looks++
			}
			return decide.Decide(in)
		}}, nil)
		r.Deploy(two())
		r.until("the workload runs", r.allRun("web", 2))
		time.Sleep(time.Hour)
		if faults < 2 || faults > 20 {
			t.Errorf("%d faults in an hour, want two in %s at most", faults, consolidation.FailedRest)
		}
		if looks == 0 {
			t.Error("no look at nodes in use in an hour")
		}
	})
}

// A fault in consolidation does not keep pods from their machines. What earlier looks found is not said any more.
func TestPanicOfConsolidation(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		looks, broken := 0, false
		r.log = hclog.NewNullLogger() // others fail a test that panics
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.Consolidation = &api.Consolidation{Enabled: ptr.To(true)} }))
		a := r.start(Options{Decide: func(in decide.Input) decide.Plan {
			if broken && !in.NotConsolidated && !in.Prove {
				looks++
				panic("index out of range")
			}
			return decide.Decide(in)
		}}, nil)
		r.Deploy(two())
		r.until("the workload runs", r.allRun("web", 2))
		r.until("a look has found something", func() bool { return gauge(t, a.metrics, "consolidation_nodes_remaining") > 0 })
		if s := a.Status(); s.Consolidation == nil || s.ConsolidationFailed {
			t.Errorf("after a look: %+v, failed %t", s.Consolidation, s.ConsolidationFailed)
		}
		if age := gauge(t, a.metrics, "consolidation_look_age_seconds"); age > 600 {
			t.Errorf("the last look is said to be %v s old", age)
		}
		broken = true
		time.Sleep(time.Hour)
		if age := gauge(t, a.metrics, "consolidation_look_age_seconds"); age < 3000 {
			t.Errorf("after an hour of looks that failed, the last one is said to be %v s old", age)
		}
		if s := a.Status(); s.Consolidation != nil || !s.ConsolidationFailed {
			t.Errorf("after a look that failed: %+v, failed %t", s.Consolidation, s.ConsolidationFailed)
		}
		for _, name := range []string{"consolidation_nodes_remaining", "consolidation_open_dollars_per_hour"} {
			if left := gauge(t, a.metrics, name); left != -1 {
				t.Errorf("%s is still %v", name, left)
			}
		}
		if looks < 2 || looks > 10 {
			t.Errorf("looked %d times in an hour, want once in %s", looks, consolidation.FailedRest)
		}
		r.Apply(testProvisioner("default"))
		r.until("nobody asks for looks", func() bool { return gauge(t, a.metrics, "consolidation_look_age_seconds") == 0 })
	})
}
