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

// TestPreferredSpreadsOfManyReplicas: a spread over instance types that may be violated keeps none of
// thousands of replicas pending, and those of a required one over zones are spread.
func TestPreferredSpreadsOfManyReplicas(t *testing.T) {
	const spread = "{maxSkew: 1, topologyKey: %s, whenUnsatisfiable: %s, labelSelector: {matchLabels: {app: web}}}"
	for _, n := range []int{300, 3000} {
		for _, zones := range []string{"DoNotSchedule", "ScheduleAnyway"} {
			w := newWorld(t, realTypes(t))
			w.in.Prove = false
			w.provisioner("default", "{requirements: [{key: $capacity, operator: In, values: [on-demand, spot]}]}")
			spreads := fmt.Sprintf(spread+", "+spread, "$zone", zones, "node.kubernetes.io/instance-type", "ScheduleAnyway")
			w.pods(n, "web", "{requests: {cpu: 2, memory: 4Gi}, labels: {app: web}, topologySpreadConstraints: ["+spreads+"]}")
			plan := Decide(w.in)
			if left := len(plan.Unplaced); left > 0 {
				t.Fatalf("%d replicas, %s over zones: %d have no place: %s", n, zones, left, plan.Unplaced[0].Reason)
			}
			perZone := map[string]int{}
			for _, m := range plan.Machines {
				perZone[m.Chosen().Zone] += len(m.Pods)
			}
			few, many := n, 0
			for _, pods := range perZone {
				few, many = min(few, pods), max(many, pods)
			}
			if zones == "DoNotSchedule" && many-few > 1 {
				t.Errorf("%d replicas are not spread over zones: %v", n, perZone)
			}
		}
	}
}
