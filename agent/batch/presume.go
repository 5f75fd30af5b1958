package batch

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// Presume marks pods as unschedulable that the scheduler has not tried yet, if it has found no node
// for a pod with the same template, or for one of the same owner that asks for the same: it will find none
// for them either. The scheduler takes seconds to try the pods of a large scale-up, in which the agent can
// buy machines. Pods that have a place in the
// last plan stay presumed unschedulable until the scheduler has tried them, so that no other pod gets
// their place. Presume does not change its argument.
func Presume(s *cluster.Snapshot, placed func(uid string) bool) *cluster.Snapshot {
	refused, of := map[*cluster.Template]bool{}, map[string]*cluster.Template{}
	for p := range s.EachPod() {
		if p.State == cluster.PodPending && !p.Template.ResourceClaims {
			refused[p.Template], of[p.Owner.UID] = true, p.Template
		}
	}
	delete(of, "") // pods without an owner
	alike := func(p cluster.Pod) bool {
		sibling := of[p.Owner.UID]
		return refused[p.Template] || sibling != nil && sibling.SameButIdentity(p.Template)
	}
	presumed := func(p cluster.Pod) bool {
		return p.State == cluster.PodNew && (alike(p) || placed(p.UID))
	}
	if !slices.ContainsFunc(s.Pods, presumed) {
		return s
	}
	out := *s
	out.Pods = slices.Clone(s.Pods)
	for p := range out.EachPod() {
		if presumed(*p) {
			p.State, p.PresumedUnschedulable = cluster.PodPending, true
		}
	}
	return &out
}
