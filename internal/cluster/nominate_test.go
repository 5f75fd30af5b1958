package cluster

import (
	"testing"
	"time"
)

// A pod that is nominated to a node is left to the scheduler only for as long as it may come there.
func TestOldNominations(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	stopping := func(priority int32, stopBy time.Duration) Pod {
		return Pod{PodKey: PodKey{Name: "victim"}, NodeName: "n", State: PodTerminating, StopBy: now.Add(stopBy), Template: &Template{Priority: priority}}
	}
	for name, c := range map[string]struct {
		node   string // to which it is nominated
		marked time.Duration
		on     []Pod
		want   PodState
	}{
		"a moment ago":                          {"n", time.Second, nil, PodWaiting},
		"long ago":                              {"n", time.Hour, nil, PodPending},
		"long ago, and others stop for it":      {"n", time.Hour, []Pod{stopping(1, time.Hour)}, PodWaiting},
		"long ago, and a more important stops":  {"n", time.Hour, []Pod{stopping(3, time.Hour)}, PodPending},
		"long ago, and another does not stop":   {"n", time.Hour, []Pod{stopping(1, -time.Hour)}, PodPending},
		"the node is gone":                      {"gone", time.Second, nil, PodPending},
		"the node is being deleted":             {"deleted", time.Second, []Pod{stopping(1, time.Hour)}, PodPending},
		"it was never marked, and node is gone": {"gone", 0, nil, PodWaiting},
	} {
		pod := Pod{PodKey: PodKey{Name: "pod"}, NominatedNode: c.node, State: PodWaiting, Template: &Template{Priority: 2}}
		if c.marked > 0 {
			pod.Unplaced = now.Add(-c.marked)
		}
		s := &Snapshot{Nodes: []Node{{Name: "deleted", Deleting: true}, {Name: "n"}}, Pods: append([]Pod{pod}, c.on...)}
		got := s.WithoutOldNominations(now).Pods[0]
		if got.State != c.want || (got.NominatedNode == "") != (c.want == PodPending) {
			t.Errorf("%s: it is %s, nominated to %q; want %s", name, got.State, got.NominatedNode, c.want)
		}
		if s.Pods[0].State != PodWaiting || s.Pods[0].NominatedNode != c.node {
			t.Errorf("%s: the argument is changed", name)
		}
	}
}
