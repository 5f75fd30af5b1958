package batch

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Presume counts pods among those that wait for a node although the scheduler has not
// tried them yet, where it has found no node for one that asks for just the same: it
// will find none for them either. Trying a large scale-up takes the scheduler seconds,
// in which the machines can be bought. Pods that have a place in the last plan are
// presumed unschedulable until the scheduler has tried them, so that nobody else gets
// their place. The argument is not changed.
func Presume(s *cluster.Snapshot, placed func(uid string) bool) *cluster.Snapshot {
	refused := map[*cluster.Template]bool{}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.State == cluster.PodPending && !p.Template.ResourceClaims {
			refused[p.Template] = true
		}
	}
	presumed := func(p cluster.Pod) bool {
		return p.State == cluster.PodNew && (refused[p.Template] || placed(p.UID))
	}
	if !slices.ContainsFunc(s.Pods, presumed) {
		return s
	}
	out := *s
	out.Pods = slices.Clone(s.Pods)
	for i := range out.Pods {
		if p := &out.Pods[i]; presumed(*p) {
			p.State, p.PresumedUnschedulable = cluster.PodPending, true
		}
	}
	return &out
}
