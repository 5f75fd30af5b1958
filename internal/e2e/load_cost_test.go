package e2e

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// cost is what the agent took for a phase.
type cost struct {
	phase       string
	nodes, pods int
	seconds     float64
	memory      float64 // peak of the resident set since the agent's start, in bytes
	cpu         float64 // seconds
	share       float64 // of the CPU time of the whole sandbox
	kubernetes  float64 // requests
	aws         float64 // requests
}

// cores are how many the agent has kept busy. A phase takes the longer, the less CPU
// there is for the control plane, and the agent works as long as a phase lasts.
func (c cost) cores() float64 { return c.cpu / c.seconds }

// reading is the state of all counters at one moment.
type reading struct {
	at      time.Time
	metrics map[string]float64
	cpu     float64 // seconds of this process and those that it has started
}

func (l *load) begin() reading {
	l.t.Helper()
	return reading{time.Now(), l.metrics(), cpuOfAll(l.t)}
}

// end returns what was taken since the beginning, and logs what for.
func (l *load) end(since reading, phase string) cost {
	l.t.Helper()
	now := l.begin()
	took := map[string]float64{}
	for series, value := range now.metrics {
		took[series] = value - since.metrics[series]
	}
	total := totals(took)
	const cpu, kubernetes, aws = "process_cpu_seconds_total", "packhorse_kubernetes_requests_total", "packhorse_aws_requests_total"
	f := cost{
		phase: phase, nodes: l.nodes, pods: l.pods, seconds: now.at.Sub(since.at).Seconds(), memory: peakMemory(l.t, l.agent.PID()),
		cpu: total[cpu], share: total[cpu] / (now.cpu - since.cpu), kubernetes: total[kubernetes], aws: total[aws],
	}
	l.t.Logf("%s, %d nodes, %d pods: %.1f s, %.0f turns, %.0f drain passes, %.1f s of CPU\n%s%s", phase, l.nodes, l.pods, f.seconds,
		total["packhorse_turns_total"], total["packhorse_drain_pass_duration_seconds_count"], f.cpu, largest(took, kubernetes), largest(took, aws))
	return f
}

// totals adds up the series of each metric.
func totals(series map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for one, value := range series {
		name, _, _ := strings.Cut(one, "{")
		out[name] += value
	}
	return out
}

// largest lists the series of a metric that grew most.
func largest(took map[string]float64, metric string) string {
	series := slices.DeleteFunc(slices.Collect(maps.Keys(took)), func(s string) bool { return !strings.HasPrefix(s, metric+"{") || took[s] == 0 })
	slices.SortFunc(series, func(a, b string) int { return cmp.Or(cmp.Compare(took[b], took[a]), strings.Compare(a, b)) })
	var b strings.Builder
	for _, s := range series[:min(10, len(series))] {
		_, _ = fmt.Fprintf(&b, "  %7.0f %s\n", took[s], s)
	}
	return b.String()
}

// metrics reads all of the agent's series.
func (s *scene) metrics() map[string]float64 {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	series, err := fetch(ctx, s.agent.Metrics)
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]float64{}
	for text := range strings.Lines(string(series)) {
		text = strings.TrimSuffix(text, "\n")
		i := strings.LastIndexByte(text, ' ')
		if strings.HasPrefix(text, "#") || i < 0 {
			continue
		}
		value, err := strconv.ParseFloat(text[i+1:], 64)
		if err != nil {
			s.t.Fatal(err)
		}
		out[text[:i]] = value
	}
	return out
}

// peakMemory is the largest resident set that a process has had, in bytes.
func peakMemory(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, "\n")
	kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib * 1024
}

// cpuOfAll adds up what this process, and those that it has started and that still
// run, have used of CPU: the whole sandbox with the agent, in seconds.
func cpuOfAll(t *testing.T) float64 {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	type process struct{ parent, ticks int }
	all := map[int]process{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		id, rest, _ := strings.Cut(string(text), " (")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:]) // from the state on: see proc_pid_stat(5)
		n := func(text string) int { v, _ := strconv.Atoi(text); return v }
		all[n(id)] = process{parent: n(fields[1]), ticks: n(fields[11]) + n(fields[12])}
	}
	ticks := 0
	for id, p := range all {
		ancestor := id
		for ancestor > 1 && ancestor != os.Getpid() {
			ancestor = all[ancestor].parent
		}
		if ancestor == os.Getpid() {
			ticks += p.ticks
		}
	}
	return float64(ticks) / 100 // USER_HZ
}

// table is what docs/operations.md shows.
func table(all []cost) string {
	var b strings.Builder
	b.WriteString("| phase | nodes | pods | time | agent's memory | agent's CPU | cores | of all CPU | API requests | AWS calls | CPU per node | API requests per node | AWS calls per node |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, f := range all {
		n := float64(f.nodes)
		_, _ = fmt.Fprintf(&b, "| %s | %d | %d | %.0f s | %.0f MiB | %.1f s | %.2f | %.0f %% | %.0f | %.0f | %.0f ms | %.1f | %.2f |\n",
			f.phase, f.nodes, f.pods, f.seconds, f.memory/(1<<20), f.cpu, f.cores(), 100*f.share, f.kubernetes, f.aws, 1000*f.cpu/n, f.kubernetes/n, f.aws/n)
	}
	return b.String()
}

// check holds the figures against what is promised that does not depend on how fast
// the machine is.
func check(t *testing.T, all []cost) {
	const limit = 300 << 20
	smallest := map[string]cost{}
	for _, f := range all {
		if f.memory > limit {
			t.Errorf("%s with %d nodes: the agent takes %.0f MiB, want less than 300", f.phase, f.nodes, f.memory/(1<<20))
		}
		small, known := smallest[f.phase]
		if !known {
			smallest[f.phase] = f
			continue
		}
		growth := float64(f.nodes) / float64(small.nodes)
		for what, ratio := range map[string]float64{
			"requests to the API server": f.kubernetes / small.kubernetes,
			"AWS calls":                  f.aws / small.aws,
			"cores":                      f.cores() / small.cores(),
		} {
			if ratio > 1.5*growth {
				t.Errorf("%s: %.1f times the %s for %.1f times the nodes", f.phase, ratio, what, growth)
			}
		}
	}
}
