package agent

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
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

// gauge reads the gauge or counter whose labels have these values; -1 where there is none.
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
				return series.GetGauge().GetValue() + series.GetCounter().GetValue()
			}
		}
	}
	return -1
}

// TestCountersBegin: of each Provisioner and reason there is a 0 before there is a 1, and a
// look at the same Provisioner changes nothing.
func TestCountersBegin(t *testing.T) {
	m := metrics.New()
	v := &view.View{Snapshot: &cluster.Snapshot{}, Provisioners: []*view.Provisioner{{Raw: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}}}
	export(m, v, &decide.Plan{})
	m.Disruptions.WithLabelValues("default", decide.Drifted.Name()).Inc()
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
