package agent

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/planreport"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim/stock"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// Without words, the status page would announce a removal by a time alone.
func TestDeadlinesHaveWords(t *testing.T) {
	timeless := []decide.RemovalReason{decide.Orphaned, decide.Drifted, decide.Consolidated} // see retire.Policy.Deadlines
	for _, reason := range decide.RemovalReasons {
		if untilThen[reason] == "" && !slices.Contains(timeless, reason) {
			t.Errorf("%s has no words: add them to `untilThen` of agent/status_leaving.go, or list it here if it has no deadline", reason)
		}
	}
}

// busy is a cluster in which everything happens that a status tells of.
func busy(r *rig) *running {
	batch := func(s *api.ProvisionerSpec) {
		s.Requirements = []api.Requirement{{Key: api.LabelCapacityType, Operator: api.OpIn, Values: []string{"spot"}}}
		s.Taints = []corev1.Taint{{Key: "batch", Effect: corev1.TaintEffectNoSchedule}}
	}
	limit := func(s *api.ProvisionerSpec) {
		s.Limits = &api.Limits{Resources: corev1.ResourceList{"cpu": resource.MustParse("60")}}
	}
	arm := func(s *api.ProvisionerSpec) {
		s.Requirements = []api.Requirement{{Key: api.LabelArch, Operator: api.OpIn, Values: []string{"arm64"}}}
		s.Taints = []corev1.Taint{{Key: "arm", Effect: corev1.TaintEffectNoSchedule}}
	}
	r.DaemonSet("logs", sim.Requests("50m", "100Mi"))
	r.Apply(testProvisioner("default", limit, emptyAfter(300), expireAfter(7*24*3600)))
	r.Apply(testProvisioner("batch", batch))
	r.Apply(testProvisioner("arm", arm, emptyAfter(600)))
	r.Capacity("r5.large", "sim-1a", "spot", 0)
	r.Capacity("r5.large", "sim-1b", "spot", 0)
	deploy := func(name string, replicas int, cpu, memory, taint string) {
		spec := sim.Requests(cpu, memory)
		if taint != "" {
			spec.Tolerations = []corev1.Toleration{{Key: taint, Operator: corev1.TolerationOpExists}}
			spec.NodeSelector = map[string]string{api.LabelProvisioner: taint}
		}
		r.Deploy(sim.Workload{Name: name, Replicas: replicas, Spec: spec})
	}
	a := r.start(Options{}, nil)
	deploy("web", 14, "700m", "1Gi", "")
	deploy("api", 9, "1200m", "3Gi", "")
	deploy("queue", 3, "400m", "6Gi", "")
	deploy("train", 6, "900m", "11Gi", "batch")
	deploy("edge", 5, "800m", "2500Mi", "arm")
	r.until("all is up", func() bool { return r.allUp() && r.count("train", isRunning) == 6 && r.count("edge", isRunning) == 5 })
	time.Sleep(20 * time.Minute)
	r.Protect(sim.Budget{Name: "train", Selector: map[string]string{"app": "train"}, MinAvailable: 6})
	r.Apply(testProvisioner("batch", batch, consolidates()))
	r.DeleteNode(r.nodeWith("train"))
	r.Scale("edge", 0)
	deploy("huge", 2, "90", "1Gi", "")
	time.Sleep(2 * time.Minute)
	deploy("late", 6, "1500m", "2Gi", "")
	r.until("the late ones are bound", func() bool { return r.count("late", bound) == 6 })
	time.Sleep(5 * time.Second)
	return a
}

func (r *rig) nodeWith(workload string) string {
	for _, p := range r.Pods() {
		if p.Labels["app"] == workload && p.Spec.NodeName != "" {
			return p.Spec.NodeName
		}
	}
	r.Fatalf("no node has pods of %s", workload)
	return ""
}

// Grace periods may last for years, so that the time of day does not tell when one ends.
func TestDrainingTellsTheDate(t *testing.T) {
	deleted := time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	p := &cluster.Pod{PodKey: cluster.PodKey{Namespace: "d", Name: "a"}, State: cluster.PodTerminating, StopBy: deleted.AddDate(10, 0, 0), Template: &cluster.Template{}}
	want := "has been draining since 2026-01-01 03:00:00 UTC: 1 pod is still there, and pod d/a may take until 2036-01-01 03:00:00 UTC to stop"
	if got := draining(&cluster.Node{DeletedAt: deleted}, []*cluster.Pod{p}, "").What; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A node of a managed node group is not called one that is starting: nobody labels it when it is up.
func TestNodesOfOthersAreNotStarting(t *testing.T) {
	for name, c := range map[string]struct {
		node cluster.Node
		want string
	}{
		"ours, which is bought":   {cluster.Node{Name: "n", Provisioner: "default"}, "has a place on a machine that is being bought"},
		"ours, which is starting": {cluster.Node{Name: "n", Provisioner: "default", ProviderID: "aws:///a/i-1"}, "has a place on node n, which is starting"},
		"ours, which is up":       {cluster.Node{Name: "n", Provisioner: "default", Initialized: true}, "has a place on node n"},
		"of a node group":         {cluster.Node{Name: "n", Ready: true}, "has a place on node n"},
	} {
		h, pod := newHistory(), cluster.Pod{PodKey: cluster.PodKey{UID: "1"}}
		h.planned[pod.UID] = decide.Binding{Pod: pod.PodKey, Node: "n"}
		if got := h.awaited(&view.View{Snapshot: &cluster.Snapshot{Nodes: []cluster.Node{c.node}}}, &pod); got != c.want {
			t.Errorf("%s: it says %q, want %q", name, got, c.want)
		}
	}
}

// While EC2 does not answer an order, there is no node yet whose name could be told.
func TestStatusWhileAMachineIsBought(t *testing.T) {
	inBubble(t, sim.Options{LaunchTime: 100 * time.Second}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		a := r.start(Options{}, nil)
		r.Deploy(two())
		time.Sleep(time.Minute)
		if p := a.Status().Pending; len(p) != 1 || p[0].Why != "has a place on a machine that is being bought" {
			t.Errorf("while it is bought: %+v", p)
		}
	})
}

// A node that keeps its startup taints stays because pods run there, and the page says so once it would have been replaced.
func TestStatusOfNodeThatKeepsStartupTaints(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		taint := corev1.Taint{Key: "example.com/starting", Effect: corev1.TaintEffectNoSchedule}
		r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.StartupTaints = []corev1.Taint{taint} }))
		a := r.start(Options{}, nil)
		w := two()
		w.Spec.Tolerations = []corev1.Toleration{{Key: taint.Key, Operator: corev1.TolerationOpExists}}
		r.Deploy(w)
		r.until("the workload runs", r.allRun(w.Name, w.Replicas))
		time.Sleep(14 * time.Minute)
		if l := a.leavingOf(r.ours()[0].Name); !strings.Contains(l.What, "takes long to start") || l.At.IsZero() || l.Blocked {
			t.Errorf("before the startup timeout: %+v", l)
		}
		time.Sleep(3 * time.Hour)
		want := status.Leaving{
			Node: r.ours()[0].Name, Blocked: true,
			What: "nothing has removed the taints example.com/starting 15m after it was launched; it stays because pods run there",
		}
		if l := a.leavingOf(want.Node); l != want {
			t.Errorf("hours later: %+v", l)
		}
	})
}

// A status tells of everything that an operator asks about.
func TestStatus(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		s := busy(r).Status()
		leaving := func(text string) bool {
			return slices.ContainsFunc(s.Leaving, func(l status.Leaving) bool { return strings.Contains(l.What, text) })
		}
		for what, ok := range map[string]bool{
			"why a node was bought": slices.ContainsFunc(s.Nodes, func(n status.Node) bool {
				return strings.Contains(n.Why, "for 23 pods") || strings.Contains(n.Why, "default/web") && strings.Contains(n.Why, "candidate types")
			}),
			"that a node starts":            slices.ContainsFunc(s.Nodes, func(n status.Node) bool { return n.State == "starting" }),
			"that a node is drained":        slices.ContainsFunc(s.Nodes, func(n status.Node) bool { return n.State == "draining" }),
			"which budget holds it":         leaving("train"),
			"when an empty node goes":       leaving("is empty; removed unless pods come"),
			"when nodes expire":             leaving("expires"),
			"which pods are stuck, and why": len(s.Pending) == 1 && s.Pending[0].Stuck && s.Pending[0].Count == 2 && strings.Contains(s.Pending[0].Why, "90 CPU"),
			"how long they are":             !s.Pending[0].Since.IsZero(),
			"how full the limit is":         len(s.Provisioners) == 3 && len(s.Provisioners[2].Limits) == 1 && s.Provisioners[2].Limits[0].Share > 0.3,
			"what keeps nodes in use": s.Consolidation != nil && slices.ContainsFunc(s.Consolidation.Stays, func(n explain.ConsolidationStay) bool {
				return n.Blocker == "pdb" && strings.Contains(n.Why, "train") && n.Unused > 0
			}),
			"what happened": len(s.Recent) > 5 && s.Recent[0].At.After(s.Recent[5].At),
		} {
			if !ok {
				t.Errorf("it does not tell %s", what)
			}
		}
		sum := 0.0
		for _, p := range s.Provisioners {
			sum += p.HourlyPrice
		}
		if s.HourlyPrice == 0 || cmp.Diff(sum, s.HourlyPrice, approximately) != "" {
			t.Errorf("price %v, and %v over the Provisioners", s.HourlyPrice, sum)
		}
		if b := s.Bound; b == nil || b.HourlyPrice <= 0 || b.HourlyPrice > b.Rebought || b.Unplaced != 2 || b.Pods != 14+9+3+6+6 {
			t.Errorf("bound %+v", b)
		}
		r.writeStatus(s)
	})
}

var approximately = cmp.Comparer(func(a, b float64) bool { return max(a-b, b-a) < 1e-9 })

// writeStatus keeps the fixture of the page's tests true.
func (r *rig) writeStatus(s *status.Status) {
	const path = "../internal/status/testdata/busy.json"
	out, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		r.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, append(out, '\n'), 0o600); err != nil {
			r.Fatal(err)
		}
	}
}

// What is not available is listed with who would buy it, and a bound stays for a while.
func TestStatusOfShortage(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		for _, zone := range stock.Zones {
			r.Capacity("c5.large", zone, "on-demand", 0)
		}
		a := r.served(testProvisioner("default"), sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		first := a.Status()
		if len(first.Unavailable) != 3 || first.Unavailable[0].InstanceType != "c5.large" || !slices.Equal(first.Unavailable[0].Provisioners, []string{"default"}) {
			t.Errorf("unavailable: %+v", first.Unavailable)
		}
		if !strings.Contains(first.Nodes[0].Why, "bought instead of c5.large, which was refused") && !strings.Contains(first.Nodes[0].Why, "cheapest") {
			t.Errorf("bought because: %s", first.Nodes[0].Why)
		}
		if a.Status() != first {
			t.Error("a status is made twice of the same turn")
		}
	})
}

// An agent that does not lead claims nothing.
func TestStatusOfStandby(t *testing.T) {
	a := New(nil, nil, Options{}, nil)
	if diff := cmp.Diff(&status.Status{}, a.Status()); diff != "" {
		t.Error(diff)
	}
	a.leading.Store(true)
	if diff := cmp.Diff(&status.Status{Leading: true}, a.Status()); diff != "" {
		t.Error(diff)
	}
}

// TestWaitingSinceItsCreation: a pod has waited since it was created, and not since an agent began to lead.
func TestWaitingSinceItsCreation(t *testing.T) {
	h, created := newHistory(), time.Date(2026, 1, 1, 3, 0, 0, 0, time.UTC)
	pod := cluster.Pod{PodKey: cluster.PodKey{Namespace: "d", Name: "a", UID: "1"}, State: cluster.PodPending, Created: created, Template: &cluster.Template{}}
	v := &view.View{Snapshot: &cluster.Snapshot{Pods: []cluster.Pod{pod}}}
	h.firstSeen["1"] = created.Add(time.Hour)
	none := func(string, string) string { return "" }
	if got := h.waiting(v, &decide.Plan{}, none); len(got) != 1 || !got[0].Since.Equal(created) {
		t.Errorf("%+v, want since %s", got, created)
	}
}

// TestWaitingTellsWhatKubeSchedulerRefuses: a pod that fits a node where kube-scheduler does not place it is not
// promised the node for ever.
func TestWaitingTellsWhatKubeSchedulerRefuses(t *testing.T) {
	inBubble(t, sim.Options{}, func(*rig) {
		h, reporter := newHistory(), &planreport.Reporter{Events: event.NewRecorder(&told{}), Log: hclog.NewNullLogger()}
		pod := cluster.Pod{PodKey: cluster.PodKey{Namespace: "d", Name: "a", UID: "1"}, State: cluster.PodPending, Template: &cluster.Template{}}
		v := &view.View{Snapshot: &cluster.Snapshot{Pods: []cluster.Pod{pod}, Nodes: []cluster.Node{{Name: "n", Initialized: true}}}}
		h.planned["1"] = decide.Binding{Pod: pod.PodKey, Node: "n"}
		for _, want := range []status.Pending{{Why: "has a place on node n"}, {Why: "fits node n, but kube-scheduler has not placed it there for 10m", Stuck: true}} {
			reporter.Fits(pod.PodKey, "n", true)
			got := h.waiting(v, &decide.Plan{}, reporter.Unscheduled)
			if len(got) != 1 || !strings.HasPrefix(got[0].Why, want.Why) || got[0].Stuck != want.Stuck {
				t.Errorf("%+v, want %+v", got, want)
			}
			time.Sleep(10 * time.Minute)
		}
	})
}
