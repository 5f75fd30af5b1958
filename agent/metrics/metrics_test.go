package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
)

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != 200 {
		t.Fatalf("scrape: %d %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// What happens is counted under names that begin with packhorse, and each agent counts
// for itself.
func TestMetricsCount(t *testing.T) {
	m, other := metrics.New(), metrics.New()
	m.Failed("CreateFleet")
	m.KubernetesRequest("get", "nodes", 404)
	m.AWSRequest("EC2", "CreateFleet", 0)
	m.Drained("default", time.Minute)
	got := scrape(t, m)
	for _, want := range []string{
		`packhorse_cloud_errors_total{call="CreateFleet"} 1`,
		`packhorse_terminations_total{provisioner="default"} 1`,
		`packhorse_drain_duration_seconds_sum{provisioner="default"} 60`,
		`code="404"`, `code="0"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(scrape(t, other), "CreateFleet") {
		t.Error("another agent's metrics count it too")
	}
}

// The series of a Provisioner end when it has been gone for an hour, also those that other loops add meanwhile.
func TestSeriesEnd(t *testing.T) {
	m, start := metrics.New(), time.Unix(0, 0)
	m.Follow(map[string]bool{"stays": true, "goes": true}, start)
	for _, c := range []struct {
		after time.Duration
		left  bool
	}{{59 * time.Minute, true}, {time.Hour, false}} {
		m.Launches.WithLabelValues("goes", "pods", "m5.large", "a", "spot").Inc()
		m.Drained("goes", time.Minute)
		m.Follow(map[string]bool{"stays": true}, start.Add(c.after))
		got := scrape(t, m)
		if strings.Contains(got, `provisioner="goes"`) != c.left || !strings.Contains(got, `provisioner="stays"`) {
			t.Errorf("after %s:\n%s", c.after, got)
		}
	}
}

// A pod that nobody has seen waiting has no waiting time.
func TestWaitedNeedsABeginning(t *testing.T) {
	m := metrics.New()
	m.Waited(m.UntilBinding, time.Time{})
	if got := scrape(t, m); !strings.Contains(got, "packhorse_unschedulable_to_binding_seconds_count 0") {
		t.Error("a wait without a beginning was observed")
	}
	m.Waited(m.UntilBinding, time.Now())
	if got := scrape(t, m); !strings.Contains(got, "packhorse_unschedulable_to_binding_seconds_count 1") {
		t.Error("a wait was not observed")
	}
}

// Waits for capacity and drains that a budget holds up take hours, and are told apart from those of minutes.
func TestHistogramsReachHours(t *testing.T) {
	m := metrics.New()
	const wait = 5 * time.Hour
	since := time.Now().Add(-wait)
	m.Waited(m.UntilLaunch, since)
	m.Waited(m.UntilBinding, since)
	m.Waited(m.UntilRunning, since)
	m.Drained("default", wait)
	got := scrape(t, m)
	for _, name := range []string{"unschedulable_to_launch", "unschedulable_to_binding", "unschedulable_to_running", "drain_duration"} {
		within := 0
		for line := range strings.Lines(got) {
			if strings.HasPrefix(line, "packhorse_"+name+"_seconds_bucket") && !strings.Contains(line, "+Inf") && strings.HasSuffix(line, " 1\n") {
				within++
			}
		}
		if within == 0 {
			t.Errorf("%s has no bucket for %s", name, wait)
		}
	}
}

// The documentation is generated from the list: it has a help text for each metric, and
// no name twice.
func TestAllMetricsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range metrics.New().All() {
		if m.Help == "" || seen[m.Name] || !strings.HasPrefix(m.Name, "packhorse_") {
			t.Errorf("%+v: needs a help text and a name of its own", m)
		}
		seen[m.Name] = true
	}
	if len(seen) == 0 {
		t.Error("there are no metrics")
	}
}
