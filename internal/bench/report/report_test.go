package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/measure"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// outcomes are one case with the peer, one without it and one that went wrong.
func outcomes() []suite.Outcome {
	of := func(cpu time.Duration, machines int, price float64, faults ...string) *suite.Result {
		s := measure.Sample{CPU: cpu, Wall: cpu, Allocated: 3 << 20, Peak: 99 << 20}
		return &suite.Result{Time: measure.Series{First: s, Typical: s}, Machines: machines, Price: price, Faults: faults}
	}
	return []suite.Outcome{
		{Run: suite.Run{Case: "uniform-10000", Pods: 10_000, Classes: 40, Types: 900, Ours: of(5*time.Millisecond, 1453, 100.9), Peer: of(6*time.Second, 43, 150), Proven: 100}, Runs: 3, Ratio: 1200, WallRatio: 900},
		{Run: suite.Run{Case: "fleet-100000", Pods: 100_000, Ours: of(time.Second, 7, 1.005), Proven: 1}, Runs: 3},
		{Run: suite.Run{Case: "gpus-5000", Pods: 5000, Ours: of(time.Second, 7, 2, "one is broken", "two", "three", "four"), Peer: of(time.Second, 7, 1.5), Solved: 1}, Runs: 3, Ratio: 1, Borrowed: true},
	}
}

func TestText(t *testing.T) {
	got := Text(outcomes())
	for _, want := range []string{
		"10,000", "5.00 ms", "6.0 s", "1,200×", "1,453", "1.0 s†", "100.90", "150.00", "0.90 %", "50.00 %", "99 MiB", "✓✓✓✓✓", "✗",
		"gpus-5000: price ≤ peer's, got 133.3 %", "Packhorse: one is broken", "Packhorse: and 1 more",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "uniform-10000:") {
		t.Errorf("a bar that was met is listed as missed:\n%s", got)
	}
}

func TestMarkdown(t *testing.T) {
	got := Markdown(&Measurement{Setting: Setting{Machine: "a box", System: "linux/amd64", Go: "go1", Ours: "abc", Peer: "peer v1"}, Outcomes: outcomes()})
	for _, want := range []string{
		"a box", "linux/amd64", "Packhorse: abc", "Peer: peer v1", "Processes per case: 3", "images/bench-price.svg", "images/bench-speed.svg",
		"| `uniform-10000` 40 deployments, c/m/r types | 10,000 | 40 | 900 | 5.00 ms | 6.0 s | 1,200× |",
		"| `uniform-10000` | speed ≥ 1000× | 1200× | ✓ |", "| `fleet-100000` | time < 2s | 1s | ✓ |", "- `gpus-5000`: Packhorse: one is broken", "make bench",
		"\n## Missed\n\n- `gpus-5000`: feasible, measured 4 faults\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "%!") {
		t.Errorf("a format went wrong:\n%s", got)
	}
	columns := 0
	for line := range strings.Lines(got) {
		n := strings.Count(line, "|")
		if columns > 0 && n > 0 && n != columns {
			t.Errorf("%d instead of %d columns: %s", n, columns, line)
		}
		columns = n
	}
}

func TestNothingFound(t *testing.T) {
	if got := Markdown(&Measurement{Outcomes: outcomes()[:2]}); !strings.Contains(got, "Nothing: all plans") {
		t.Errorf("faults without any in\n%s", got)
	}
}

func TestNothingMissed(t *testing.T) {
	if got := Markdown(&Measurement{Outcomes: outcomes()[:2]}); !strings.Contains(got, "## Missed\n\nNo bar.\n\nWhat the bars do not show") {
		t.Errorf("bars missed without any in\n%s", got)
	}
}

func TestCharts(t *testing.T) {
	charts := Charts(outcomes())
	for name, want := range map[string][]string{
		"bench-price.svg": {"uniform-10000", "gpus-5000", "Karpenter: 50.00 %", "Packhorse: 0.90 %", "prefers-color-scheme:dark"},
		"bench-speed.svg": {"uniform-10000", "1,200×", `class="bar"`, "prefers-color-scheme:dark"},
	} {
		got := charts[name]
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: no %q in\n%s", name, w, got)
			}
		}
		if strings.Contains(got, "fleet-100000") {
			t.Errorf("%s shows a case without the peer", name)
		}
		for d := xml.NewDecoder(strings.NewReader(got)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}

func TestScale(t *testing.T) {
	s := scale{least: 1, most: 100}
	for v, want := range map[float64]float64{0: labelWidth, 1: labelWidth, 10: labelWidth + plotWidth/2, 100: labelWidth + plotWidth, 1e9: labelWidth + plotWidth} {
		if got := s.x(v); got < want-0.01 || got > want+0.01 {
			t.Errorf("%v is at %v, want %v", v, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	s := Describe("v9")
	if s.Ours != "v9" || s.Go == "" || !strings.Contains(s.Machine, "cores") || !strings.HasPrefix(s.Peer, peerModule) {
		t.Errorf("got %+v", s)
	}
}
