package pack

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// A CSI driver attaches so many volumes to a node. They are counted by node like pods of
// a group: of a volume that no other pod uses each pod takes one attachment, of a volume
// that several pods share only the first pod on the node does.

// attachments returns what a pod with the needs takes of the nodes' attach limits.
func (gs *groups) attachments(needs match.Needs) []touch {
	var out []touch
	of := func(driver string) int {
		return gs.add("attachments of "+driver, &group{key: corev1.LabelHostname, volumes: true})
	}
	for _, driver := range slices.Sorted(maps.Keys(needs.Attach)) {
		out = addTouch(out, touch{group: of(driver), self: needs.Attach[driver], cap: unbounded, entry: unbounded})
	}
	for _, v := range needs.Shared {
		id := gs.add("volume of claim "+v.Volume, &group{key: corev1.LabelHostname, volumes: true})
		out = addTouch(out, touch{group: of(v.Driver), cap: unbounded, entry: unbounded})
		out = addTouch(out, touch{group: id, self: 1, cap: unbounded, entry: unbounded, driver: 1 + of(v.Driver)})
	}
	return out
}

// attachLimits returns the state of a node to which nothing is attached.
func (gs *groups) attachLimits(n *cluster.Node) hostState {
	var out hostState
	for _, driver := range slices.Sorted(maps.Keys(n.VolumeLimits)) {
		if id, ok := gs.byKey[corev1.LabelHostname+"\x00attachments of "+driver]; ok {
			out = append(out, hostCount{group: id, cap: n.VolumeLimits[driver]})
		}
	}
	return out
}

// aboutPods reports whether a constraint by node is about other pods rather than volumes.
func (s *solver) aboutPods(t touch) bool { return !s.groups.list[t.group].volumes }

// sharedBy returns the group of the attachments of which the first pod takes one.
func (t touch) sharedBy() (int, bool) { return t.driver - 1, t.driver > 0 }

// attaches counts, by the groups of their drivers, the shared volumes that are yet to be
// attached for a pod with the touches.
func (h hostState) attaches(touches []touch) map[int]int64 {
	var out map[int]int64
	for _, t := range touches {
		of, ok := t.sharedBy()
		if !ok {
			continue
		}
		if count, _ := h.get(t.group); count == 0 {
			if out == nil {
				out = map[int]int64{}
			}
			out[of]++
		}
	}
	return out
}
