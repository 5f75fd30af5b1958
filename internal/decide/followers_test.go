package decide

import (
	"fmt"
	"testing"
)

// Pods that follow others onto their nodes: their work is counted, and does not grow faster than
// their number.

// follows is a required affinity to pods with a label on the same node.
func follows(label, value string) string {
	return fmt.Sprintf("podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {%s: %s}}}]}", label, value)
}

// TestManyFollowersTakeWorkByTheirNumber has Jobs of two pods each of which must be on one node.
// To compare each Job with each for each of them would take minutes.
func TestManyFollowersTakeWorkByTheirNumber(t *testing.T) {
	steps := func(jobs int) int64 {
		w := newWorld(t, catalogueA()).provisioner("default", "")
		w.in.Prove = false
		for i := range jobs {
			job := fmt.Sprintf("j%04d", i)
			w.pods(2, job+"-", fmt.Sprintf("labels: {job: %s}, requests: {cpu: 100m, memory: %dMi}, affinity: {%s}", job, i+1, follows("job", job)))
		}
		w.in.Snapshot.Sort()
		plan, effort := decideCounting(w.in)
		if len(plan.Unplaced) > 0 {
			t.Errorf("with %d Jobs, %d pods have no place", jobs, len(plan.Unplaced))
		}
		return effort
	}
	if few, many := steps(200), steps(2000); many > 11*few {
		t.Errorf("200 Jobs take %d steps, 2000 take %d", few, many)
	}
}

// TestFollowersAskNodesOnce has 200 pairs that go onto 1,000 nodes one by one, because a further
// pod that should go with them fits nowhere.
func TestFollowersAskNodesOnce(t *testing.T) {
	w := newWorld(t, catalogueA()).provisioner("default", "")
	w.in.Prove = false
	for i := range 1000 {
		node := fmt.Sprintf("n-%04d", i)
		w.node(node, "std", "a", nil)
		w.running(fmt.Sprintf("r-%04d", i), node, "requests: {cpu: 1850m}")
	}
	for app, more := range map[string]string{"store": "", "web": ", " + follows("app", "store")} {
		w.pods(200, app, fmt.Sprintf("labels: {app: %s}, requests: {cpu: 100m}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {app: %s}}}]}%s}", app, app, more))
	}
	w.pods(1, "huge", "labels: {app: web}, requests: {cpu: 1000}, affinity: {"+follows("app", "store")+"}")
	w.in.Snapshot.Sort()
	plan, effort := decideCounting(w.in)
	if len(plan.Unplaced) != 1 || len(plan.Machines) > 0 {
		t.Errorf("%d pods have no place, and %d machines are bought", len(plan.Unplaced), len(plan.Machines))
	}
	if effort > 1_000_000 {
		t.Errorf("took %d steps, more than 1,000 for each node", effort)
	}
}
