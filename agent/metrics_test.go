package agent

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

var update = flag.Bool("update", false, "rewrite the list in docs/metrics.md")

// The list in the documentation is what the agent exports.
func TestMetricsAreDocumented(t *testing.T) {
	const file, begin, end = "../docs/metrics.md", "<!-- metrics -->\n", "<!-- end -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	listed, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no list between %q and %q", file, begin, end)
	}
	var want strings.Builder
	want.WriteString("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, m := range metrics.New().All() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", m.Name, m.Kind, strings.Join(m.Labels, ", "), m.Help)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+begin+want.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), listed); diff != "" {
		t.Errorf("%s is out of date, run go test ./agent -run %s -update: -want +got\n%s", file, t.Name(), diff)
	}
}

// Names follow the conventions of Prometheus: what is counted ends in _total, and
// what has a unit names it.
func TestMetricNames(t *testing.T) {
	for _, m := range metrics.New().All() {
		if total := strings.HasSuffix(m.Name, "_total"); total != (m.Kind == "counter") {
			t.Errorf("%s is a %s", m.Name, m.Kind)
		}
		if m.Kind == "histogram" && !strings.HasSuffix(m.Name, "_seconds") {
			t.Errorf("histogram %s has no unit", m.Name)
		}
		if !strings.HasSuffix(m.Help, ".") {
			t.Errorf("the help of %s is no sentence: %s", m.Name, m.Help)
		}
	}
}

// gauge reads the gauge or counter, or the sum of the histogram, whose labels have these values; -1 where there is none.
func gauge(t *testing.T, m *metrics.Metrics, name string, values ...string) float64 {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range series.GetLabel() {
				has[l.GetValue()] = true
			}
			if f.GetName() == "packhorse_"+name && !slices.ContainsFunc(values, func(v string) bool { return !has[v] }) {
				return series.GetGauge().GetValue() + series.GetCounter().GetValue() + series.GetHistogram().GetSampleSum()
			}
		}
	}
	return -1
}

// Only calls to the cloud count as its errors: what the API server refuses is no matter of AWS permissions.
func TestCloudErrorsAreThoseOfTheCloud(t *testing.T) {
	takeover := func(r *rig, fail sim.Intercept) *running {
		r.karpenterLeaves(2, aNodePool)
		return r.takingOver(fail)
	}
	for call, c := range map[string]struct {
		begin func(r *rig, fail sim.Intercept) *running
		cloud bool
	}{
		"Forget": {func(r *rig, fail sim.Intercept) *running {
			p := testProvisioner("default")
			p.Finalizers = []string{api.Finalizer}
			r.Apply(p)
			return r.start(Options{}, fail)
		}, true},
		"Steer": {func(r *rig, fail sim.Intercept) *running {
			r.spreadOut(Options{}, "web").end()
			return r.start(Options{}, fail)
		}, false},
		"ScaleDeployment": {func(r *rig, fail sim.Intercept) *running {
			r.Apply(testProvisioner("default", func(s *api.ProvisionerSpec) { s.InstanceTypes = []string{"m5.4xlarge"} }))
			a := r.start(Options{}, fail)
			r.Deploy(surging("web", 1))
			r.until("the workload runs", r.allRun("web", 1))
			r.until("all nodes are up", r.allUp)
			r.Apply(testProvisioner("default", cheaper))
			return a
		}, false},
		"PatchNode":        {takeover, false},
		"ReleaseNodeClaim": {takeover, false},
		"Karpenters":       {takeover, true},
		"TakeOver":         {takeover, true},
		"Disown":           {takeover, true},
	} {
		t.Run(call, func(t *testing.T) {
			inBubble(t, sim.Options{Scores: call == "Steer"}, func(r *rig) {
				var refused atomic.Int64
				a := c.begin(r, refusing(call, errors.New("admission webhook denied the request"), &refused))
				r.until("it is refused", func() bool { return refused.Load() > 1 })
				if counted := gauge(t, a.metrics, "cloud_errors_total"); c.cloud != (counted > 0) {
					t.Errorf("%v errors of the cloud", counted)
				}
			})
		})
	}
}

// In a healthy cluster pods of Jobs come all the time, and each waits until a machine is up. Nothing is wrong with
// that: what is exported is how long one pod has had a place.
func TestPodsWaitOneAfterAnother(t *testing.T) {
	h, now := newHistory(), time.Now()
	look := func(plan decide.Plan, uids ...string) time.Duration {
		now = now.Add(time.Minute)
		s := &cluster.Snapshot{}
		for _, uid := range uids {
			s.Pods = append(s.Pods, cluster.Pod{PodKey: cluster.PodKey{UID: uid}, State: cluster.PodPending})
		}
		return h.oldest(s, &plan, now)
	}
	for n := range 100 {
		if got := look(decide.Plan{}, fmt.Sprint(n), fmt.Sprint(n+1)); got > time.Minute {
			t.Fatalf("a pod has waited for %s", got)
		}
	}
	without := decide.Plan{Unplaced: []decide.Unplaced{{Pod: cluster.PodKey{UID: "stuck"}}}}
	for range 20 {
		if got := look(without, "stuck"); got != 0 {
			t.Fatalf("a pod without a place has had one for %s", got)
		}
	}
	look(decide.Plan{}, "stuck")
	for n := range 20 {
		if got, want := look(decide.Plan{}, "stuck", fmt.Sprint(n)), time.Duration(n+1)*time.Minute; got != want {
			t.Fatalf("it has waited for %s, want %s", got, want)
		}
	}
}

// The metric shows a pod whose machine does not come up, and no longer once the pod runs.
func TestOldestWaitIsExported(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		slow := ""
		r.NeverBoots(func(i offer.Instance) bool {
			if slow == "" {
				slow = i.ID
			}
			return i.ID == slow
		})
		a := r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "job", Replicas: 1, Job: 10 * time.Hour, Spec: sim.Requests("700m", "1Gi")})
		r.until("the wait is seen", func() bool { return gauge(t, a.metrics, "pods_placed_oldest_seconds") > 600 })
		r.until("the pod runs", func() bool { return r.count("job", isRunning) == 1 })
		r.until("nothing waits", func() bool { return gauge(t, a.metrics, "pods_placed_oldest_seconds") == 0 })
	})
}

// Who reads the metrics while they are set sees all nodes, and the whole of what consolidation leaves.
func TestGaugesAreWhole(t *testing.T) {
	const nodes = 1000
	m, s := metrics.New(), &cluster.Snapshot{}
	open := &decide.Consolidation{}
	for i := range nodes {
		s.Nodes = append(s.Nodes, cluster.Node{Name: fmt.Sprint(i), Provisioner: fmt.Sprintf("p%03d", i%100), Initialized: true, Ready: i%2 == 0})
		open.Stays = append(open.Stays, decide.StayingNode{Blocker: "Protected"})
	}
	set := func() {
		export(m, &view.View{Snapshot: s}, &decide.Plan{})
		m.Consolidation.Looked(open)
	}
	set()
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				set()
			}
		}
	}()
	defer func() {
		close(end)
		<-ended
	}()
	for range 100 {
		recorder := httptest.NewRecorder()
		m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, name := range []string{"packhorse_nodes", "packhorse_consolidation_nodes_remaining"} {
			sum := 0
			for line := range strings.Lines(recorder.Body.String()) {
				if strings.HasPrefix(line, name+"{") {
					n, err := strconv.Atoi(strings.TrimSpace(line[strings.LastIndex(line, " "):]))
					if err != nil {
						t.Fatal(err)
					}
					sum += n
				}
			}
			if sum != nodes {
				t.Fatalf("%s is %d in all, want %d", name, sum, nodes)
			}
		}
	}
}

// TestCountersBegin: of each Provisioner and reason there is a 0 before there is a 1, and a
// look at the same Provisioner changes nothing.
func TestCountersBegin(t *testing.T) {
	m := metrics.New()
	v := &view.View{Snapshot: &cluster.Snapshot{}, Provisioners: []*view.Provisioner{{Raw: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}}}
	export(m, v, &decide.Plan{})
	m.Disruptions.WithLabelValues("default", string(decide.Drifted)).Inc()
	export(m, v, &decide.Plan{})
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`packhorse_disruptions_total{provisioner="default",reason="never-up"} 0`,
		`packhorse_disruptions_total{provisioner="default",reason="interruption"} 0`,
		`packhorse_disruptions_total{provisioner="default",reason="drift"} 1`,
		`packhorse_refusals_total{provisioner="default",reason="InsufficientCapacity"} 0`,
		`packhorse_terminations_total{provisioner="default"} 0`,
		`packhorse_evictions_blocked_total{provisioner="default"} 0`,
		`packhorse_consolidation_nodes_total{outcome="gone",provisioner="default"} 0`,
		`packhorse_notices_total{kind="spot_interruption"} 0`,
	} {
		if !strings.Contains(recorder.Body.String(), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// TestUnreadyNodesAreTimed: short outages of several nodes do not add up to a long one.
func TestUnreadyNodesAreTimed(t *testing.T) {
	m, now := metrics.New(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &cluster.Snapshot{Nodes: []cluster.Node{
		{Name: "a", Provisioner: "default", Initialized: true, UnreadySince: now.Add(-5 * time.Minute)},
		{Name: "b", Provisioner: "default", Initialized: true, UnreadySince: now.Add(-7 * time.Minute)},
		{Name: "c", Provisioner: "default", Initialized: true, Ready: true},
		{Name: "d", Provisioner: "other", Initialized: true, Ready: true},
	}}
	export(m, &view.View{Snapshot: s, Now: now}, &decide.Plan{})
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{`packhorse_node_unready_seconds{provisioner="default"} 420`, `packhorse_node_unready_seconds{provisioner="other"} 0`} {
		if !strings.Contains(recorder.Body.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, recorder.Body)
		}
	}
}
