package successors

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// A room is kept from when its pod begins to stop until the successor should have come, and only if the last plan had
// one while the pod ran.
func TestRooms(t *testing.T) {
	const bound, stopping, gone = "bound", "stopping", "gone"
	type look struct {
		after  int // seconds
		states string
		plan   bool // the last one has a place for the pod
		kept   bool
	}
	for name, c := range map[string]struct {
		kind  string
		looks []look
	}{
		"StatefulSet": {"StatefulSet", []look{
			{0, bound, true, true}, {1, stopping, true, true}, {80, stopping, false, true}, {90, gone, false, true}, {99, gone, false, true}, {100, gone, false, false},
		}},
		"ReplicaSet": {"ReplicaSet", []look{
			{0, bound, true, true}, {1, stopping, true, true}, {11, stopping, false, true}, {21, stopping, false, false},
		}},
		"it is not seen while it stops": {"StatefulSet", []look{{0, bound, true, true}, {1, gone, true, true}, {2, gone, false, true}, {11, gone, false, false}}},
		"it stays":                      {"StatefulSet", []look{{0, bound, true, true}, {1, bound, false, false}, {2, stopping, false, false}}},
	} {
		var rooms Rooms
		began := time.Now()
		for _, l := range c.looks {
			now := began.Add(time.Duration(l.after) * time.Second)
			p := cluster.Pod{PodKey: cluster.PodKey{UID: "1"}, NodeName: "old", State: cluster.PodBound, Owner: cluster.Owner{Kind: c.kind}}
			if l.states == stopping {
				p.State, p.StopSince, p.StopBy = cluster.PodTerminating, began, began.Add(2*time.Minute)
			}
			s := &cluster.Snapshot{}
			if l.states != gone {
				s.Pods = append(s.Pods, p)
			}
			plan := map[string]decide.Binding{}
			if l.plan {
				plan["1"] = decide.Binding{Pod: p.PodKey, From: "old", Node: "new"}
			}
			kept := rooms.Kept(s, plan, now)
			if l.states == bound {
				continue // the plan has its place
			}
			if got := len(kept) == 1 && kept[0].Node == "new"; got != l.kept {
				t.Errorf("%s: after %d s it is kept: %v, want %v", name, l.after, got, l.kept)
			}
		}
	}
}
