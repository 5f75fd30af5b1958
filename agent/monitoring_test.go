package agent

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
)

const monitoring = "../docs/monitoring/"

// labelsOf returns the labels of each series that the agent exports.
func labelsOf() map[string][]string {
	out := map[string][]string{}
	for _, m := range metrics.New().All() {
		if m.Kind == "histogram" {
			for _, suffix := range []string{"_sum", "_count"} {
				out[m.Name+suffix] = m.Labels
			}
			out[m.Name+"_bucket"] = append([]string{"le"}, m.Labels...)
			continue
		}
		out[m.Name] = m.Labels
	}
	return out
}

var (
	series   = regexp.MustCompile(`packhorse_\w+`)
	selector = regexp.MustCompile(`(packhorse_\w+)(?:\{([^}]*)\})?`)
	grouping = regexp.MustCompile(`by \(([^)]*)\)`)
	matchers = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"`)
)

// clusterLabel is the label by which a Prometheus tells several clusters apart. The agent does not export it.
const clusterLabel = "cluster"

// checkExpression fails for series and labels that do not exist.
func checkExpression(t *testing.T, where, expr string, known map[string][]string) {
	t.Helper()
	selected := selector.FindAllStringSubmatch(expr, -1)
	if len(selected) == 0 {
		t.Errorf("%s: %s asks for nothing of ours", where, expr)
	}
	var grouped []string
	for _, group := range grouping.FindAllStringSubmatch(expr, -1) {
		grouped = append(grouped, strings.Split(group[1], ", ")...)
	}
	for _, one := range selected {
		name, asked := one[1], slices.Clone(grouped)
		for _, m := range matchers.FindAllStringSubmatch(one[2], -1) {
			asked = append(asked, m[1])
		}
		labels, ok := known[name]
		if !ok {
			t.Errorf("%s: there is no %s", where, name)
		}
		for _, label := range asked {
			if label != clusterLabel && !slices.Contains(labels, label) {
				t.Errorf("%s: %s has no label %s", where, name, label)
			}
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: unbalanced: %s", where, expr)
	}
}

// Each panel of the dashboard asks for what the agent exports, of the clusters that were chosen.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile(monitoring + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID          int
			Type, Title string
			Targets     []struct{ Expr, LegendFormat string }
			GridPos     struct{ H, W, X, Y int }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	known, ids, shown := labelsOf(), map[int]bool{}, map[string]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q has no id of its own, no target or no place", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			checkExpression(t, p.Title, target.Expr, known)
			names := series.FindAllString(target.Expr, -1)
			for _, name := range names {
				shown[name] = true
			}
			if chosen := strings.Count(target.Expr, `{cluster=~"$cluster"`); chosen != len(names) {
				t.Errorf("%s: %s does not ask for one cluster", p.Title, target.Expr)
			}
			// Replicas of an agent may export the same, and only one counts; several clusters add up.
			if slices.Contains(aggregations.FindAllString(target.Expr, -1), "max") {
				t.Errorf("%s: %s shows one of several clusters", p.Title, target.Expr)
			}
		}
	}
	if len(shown) < 15 {
		t.Errorf("it shows %d series", len(shown))
	}
}

var aggregations = regexp.MustCompile(`\b(?:sum|max|min|count|avg)\b(?: by \(cluster\b)?`)

// Each alert asks for what the agent exports, for each cluster, and has a runbook.
func TestAlerts(t *testing.T) {
	raw, err := os.ReadFile(monitoring + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	book, err := os.ReadFile("../docs/runbooks.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict(raw, &rules); err != nil {
		t.Fatal(err)
	}
	alerts := map[string]bool{}
	for _, r := range rules.Groups[0].Rules {
		alerts[r.Alert] = true
		checkExpression(t, r.Alert, r.Expr, labelsOf())
		for _, by := range aggregations.FindAllString(r.Expr, -1) {
			if !strings.HasSuffix(by, clusterLabel) {
				t.Errorf("%s: %s hides clusters behind each other", r.Alert, r.Expr)
			}
		}
		if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
			t.Errorf("%s: %v", r.Alert, err)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, r.Labels["severity"]) || r.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or summary", r.Alert)
		}
		if want := "docs/runbooks.md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
			t.Errorf("%s leads to %q, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		_, section, found := strings.Cut(string(book), "\n## "+r.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for _, part := range []string{"**Means**", "**Look**", "**Do**"} {
			if !found || !strings.Contains(section, part) {
				t.Errorf("the runbook of %s has no %s", r.Alert, part)
			}
		}
	}
	for _, title := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(string(book), -1) {
		if !alerts[title[1]] {
			t.Errorf("the runbook %s has no alert", title[1])
		}
	}
	if len(alerts) < 10 {
		t.Errorf("%d alerts", len(alerts))
	}
}
