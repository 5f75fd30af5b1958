package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// TestManySpreadsAtOnce: many workloads that wait together, each with a spread of its own, get
// places although what one of them takes grows with the number of Provisioners.
func TestManySpreadsAtOnce(t *testing.T) {
	const workloads = 1000
	w := newWorld(t, realTypes(t))
	w.in.Prove = false
	for k := range 40 {
		w.provisioner(fmt.Sprintf("p%02d", k), "{requirements: [{key: $capacity, operator: In, values: [on-demand, spot]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}]}")
	}
	w.daemonSet("logs", "requests: {cpu: 10m, memory: 16Mi}")
	for i := range workloads {
		w.pods(1, fmt.Sprintf("u%d", i), fmt.Sprintf("{requests: {cpu: 500m, memory: 1Gi}, labels: {app: u%d}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: u%d}}}]}", i, i))
	}
	plan := Decide(w.in)
	if n := len(plan.Unplaced); n > workloads/2 {
		t.Errorf("%d of %d pods have no place: %s", n, workloads, plan.Unplaced[0].Reason)
	}
	for _, u := range plan.Unplaced {
		if !u.Postponed {
			t.Fatalf("pod %s waits until it is planned again: %s", u.Pod, u.Reason)
		}
	}
}

// TestManyUnknownLabels: pods that select by a label that nothing has are told so, however many
// there are, and a large cluster makes them no work.
func TestManyUnknownLabels(t *testing.T) {
	w := newWorld(t, realTypes(t))
	w.in.Prove, w.in.NotConsolidated = false, true
	for k := range 40 {
		w.provisioner(fmt.Sprintf("p%02d", k), "{}")
	}
	for i := range 8000 {
		w.node(fmt.Sprintf("node-%d", i), "m5.xlarge", "us-east-1a", func(*cluster.Node) {})
	}
	for i := range 1000 {
		w.pods(1, fmt.Sprintf("u%d", i), fmt.Sprintf("{requests: {cpu: 500m}, nodeSelector: {example.com/no: such%d}}", i))
	}
	plan := Decide(w.in)
	if len(plan.Unplaced) != 1000 {
		t.Fatalf("%d pods have no place, want 1000", len(plan.Unplaced))
	}
	for _, u := range plan.Unplaced {
		if u.Exhausted || !strings.Contains(u.Reason, "example.com/no") {
			t.Fatalf("pod %s has no place because %s", u.Pod, u.Reason)
		}
	}
}
