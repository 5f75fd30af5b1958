package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// chartColumns are the characters of a line of the chart.
const chartColumns = 60

// chart draws what the agent took over time, a line for each resource with its lowest and
// highest values. Requests are those of an hour.
func chart(samples []sample) string {
	lines := []struct {
		name  string
		value func(from, to sample) float64
	}{
		{"pods", func(_, to sample) float64 { return float64(to.pods) }},
		{"nodes", func(_, to sample) float64 { return float64(to.nodes) }},
		{"memory in MiB", func(_, to sample) float64 { return to.memory / (1 << 20) }},
		{"goroutines", func(_, to sample) float64 { return to.goroutines }},
		{"sockets", func(_, to sample) float64 { return to.sockets }},
		{"API requests/h", func(from, to sample) float64 {
			return (to.kubernetesRequests - from.kubernetesRequests) / (to.at - from.at).Hours()
		}},
		{"AWS requests/h", func(from, to sample) float64 {
			return (to.awsRequests - from.awsRequests) / (to.at - from.at).Hours()
		}},
	}
	columns := min(chartColumns, len(samples)-1)
	if columns < 1 {
		return ""
	}
	var b strings.Builder
	for _, line := range lines {
		values := make([]float64, columns)
		for i := range values {
			from, to := i*(len(samples)-1)/columns, (i+1)*(len(samples)-1)/columns
			values[i] = line.value(samples[from], samples[to])
		}
		_, _ = fmt.Fprintf(&b, "%-15s %6.0f to %-6.0f %s\n", line.name, slices.Min(values), slices.Max(values), bars(values))
	}
	return b.String()
}

// bars draws values as bars between zero and the highest value, so that a line that
// looks flat is flat.
func bars(values []float64) string {
	const steps = "▁▂▃▄▅▆▇█"
	highest := slices.Max(values)
	var b strings.Builder
	for _, v := range values {
		step := 0
		if highest > 0 {
			step = int(max(0, v) / highest * 7.999)
		}
		b.WriteRune([]rune(steps)[step])
	}
	return b.String()
}

func TestChart(t *testing.T) {
	var samples []sample
	for i := range 4 {
		at := time.Duration(i) * time.Hour
		samples = append(samples, sample{at: at, pods: 10 * i, nodes: 3, memory: 64 << 20, kubernetesRequests: float64(100 * i)})
	}
	got := chart(samples)
	for _, want := range []string{"pods                10 to 30     ▃▆█\n", "nodes                3 to 3      ███\n", "API requests/h     100 to 100    ███\n", "goroutines           0 to 0      ▁▁▁\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the chart lacks %q:\n%s", want, got)
		}
	}
}
