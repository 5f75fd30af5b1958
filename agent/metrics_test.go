package agent

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	for _, m := range NewMetrics().listed {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", m.name, m.kind, strings.Join(m.labels, ", "), m.help)
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
	for _, m := range NewMetrics().listed {
		if total := strings.HasSuffix(m.name, "_total"); total != (m.kind == "counter") {
			t.Errorf("%s is a %s", m.name, m.kind)
		}
		if m.kind == "histogram" && !strings.HasSuffix(m.name, "_seconds") {
			t.Errorf("histogram %s has no unit", m.name)
		}
		if !strings.HasSuffix(m.help, ".") {
			t.Errorf("the help of %s is no sentence: %s", m.name, m.help)
		}
	}
}

// gauge reads the metric whose labels have these values; -1 where there is none.
func gauge(t *testing.T, m *Metrics, name string, values ...string) float64 {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range series.GetLabel() {
				has[l.GetValue()] = true
			}
			if f.GetName() == namespace+"_"+name && !slices.ContainsFunc(values, func(v string) bool { return !has[v] }) {
				return series.GetGauge().GetValue()
			}
		}
	}
	return -1
}
