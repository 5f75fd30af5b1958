package decide

import (
	"fmt"
	"testing"
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
