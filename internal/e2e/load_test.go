package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestLoad takes a cluster from nothing to many nodes, replaces all of them, and
// takes it back to nothing. LOAD_NODES and LOAD_PODS say how many (5 and 20);
// `make load` prints what the agent took for it.
func TestLoad(t *testing.T) {
	nodes, pods := number(t, "LOAD_NODES", 5), number(t, "LOAD_PODS", 20)
	s := newScene(t)
	s.longer = time.Duration(nodes+pods/5) * time.Second
	l := &load{scene: s, nodes: nodes, pods: pods}
	share := 1800 / ((pods + nodes - 1) / nodes) // of two cores, in thousandths
	l.configure("ttlSecondsAfterEmpty: 3600")
	l.begin()
	s.apply(deployment("load", "load", pods, fmt.Sprintf("%dm", share), "64Mi"))
	l.until("all pods run", func(ctx context.Context) (bool, string, error) {
		running, err := l.running(ctx)
		return running == pods, fmt.Sprintf("%d of %d", running, pods), err
	})
	l.report("from zero")

	old := map[string]bool{}
	for _, n := range s.nodesOf("load") {
		old[n.Name] = true
	}
	l.begin()
	l.configure("ttlSecondsAfterEmpty: 3600\nttlSecondsUntilExpired: 1\ndisruption: {budgets: [{nodes: 40%}]}")
	l.until("all nodes are replaced", func(ctx context.Context) (bool, string, error) {
		now, err := s.nodes(ctx, "load")
		left := 0
		for _, n := range now {
			if old[n.Name] {
				left++
			}
		}
		return left == 0, fmt.Sprintf("%d of %d are left", left, len(old)), err
	})
	l.report("expiry of all")

	l.begin()
	l.configure("ttlSecondsAfterEmpty: 1")
	s.delete("load")
	s.untilNoNodes("load")
	l.report("to zero")
	s.deleteProvisioner("load")
}

type load struct {
	*scene
	nodes, pods int

	began time.Time
	calls int
	cpu   float64
}

// configure applies the provisioner, which buys machines of two cores only.
func (l *load) configure(spec string) {
	l.apply(strings.Replace(provisioner("load", spec+`
requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m6i.large, m5a.large]}
`), "  ttlSecondsAfterEmpty: 3600\n", "", 1))
}

func (l *load) running(ctx context.Context) (int, error) {
	pods, err := l.scene.pods(ctx, "app=load")
	n := 0
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil {
			n++
		}
	}
	return n, err
}

func (l *load) begin() {
	l.began, l.calls, l.cpu = time.Now(), len(l.Sandbox.Cloud.Calls()), l.measured("process_cpu_seconds_total")
}

// report prints what the agent took since begin.
func (l *load) report(phase string) {
	l.t.Helper()
	memory := l.measured("process_resident_memory_bytes")
	const limit = 300 << 20
	if memory > limit {
		l.t.Errorf("the agent takes %.0f MiB, want less than 300", memory/(1<<20))
	}
	l.t.Logf("%-13s %5d nodes %6d pods: %6.1f s, agent %4.0f MiB, %6.1f CPU seconds, %5d AWS calls", phase, l.nodes, l.pods,
		time.Since(l.began).Seconds(), memory/(1<<20), l.measured("process_cpu_seconds_total")-l.cpu, len(l.Sandbox.Cloud.Calls())-l.calls)
}

// measured reads one of the agent's metrics.
func (l *load) measured(name string) float64 {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.agent.Metrics, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewScanner(io.LimitReader(resp.Body, 16<<20)); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				l.t.Fatal(err)
			}
			return value
		}
	}
	l.t.Fatalf("the agent does not export %s", name)
	return 0
}
