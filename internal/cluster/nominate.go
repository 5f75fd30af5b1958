package cluster

import (
	"slices"
	"sync"
	"time"
)

// nominationPatience is how long it may take, with clocks that differ, until pods that are preempted are being deleted.
const nominationPatience = 2 * time.Minute

// WithoutOldNominations returns the snapshot in which pods are pending again that the scheduler has nominated to a node,
// and that will not come there. It does not always take a nomination back that has failed: not from pods that
// preempt no others, and not while it does not run. The argument, which is sorted, is not changed.
func (s *Snapshot) WithoutOldNominations(now time.Time) *Snapshot {
	preempted := sync.OnceValue(func() map[string]int32 { return s.preempted(now) }) // few snapshots have old nominations
	out := s
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.Unplaced.IsZero() || s.mayCome(p, now, preempted) {
			continue
		}
		if out == s {
			copied := *s
			out, copied.Pods = &copied, slices.Clone(s.Pods)
		}
		p = &out.Pods[i]
		p.State, p.NominatedNode, p.Unplaced = PodPending, "", time.Time{}
	}
	return out
}

// mayCome reports whether an unschedulable pod may still come to the node that it is nominated to: its nomination is new,
// or less important pods are stopping there.
func (s *Snapshot) mayCome(p *Pod, now time.Time, preempted func() map[string]int32) bool {
	n := s.Node(p.NominatedNode)
	if n == nil || n.Deleting {
		return false
	}
	if now.Sub(p.Unplaced) < nominationPatience {
		return true
	}
	least, stops := preempted()[n.Name]
	return stops && least < p.Template.Priority
}

// preempted returns the lowest priority among the pods of each node that are stopping in time, by the node's name.
func (s *Snapshot) preempted(now time.Time) map[string]int32 {
	out := map[string]int32{}
	for p := range s.EachPod() {
		if p.State != PodTerminating || now.Sub(p.StopBy) >= nominationPatience {
			continue
		}
		if least, known := out[p.NodeName]; !known || p.Template.Priority < least {
			out[p.NodeName] = p.Template.Priority
		}
	}
	return out
}
