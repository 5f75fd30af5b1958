package agent

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// foresee counts pods among those that wait for a node although the scheduler has
// not looked at them yet, where it has found no node for one that asks for just the
// same: it will find none for them either. Looking at a large scale-up takes the
// scheduler seconds, in which the machines can be bought. Pods that have a place in
// the last plan are foreseen until the scheduler has looked at them, so that nobody
// else gets it. The argument is not changed.
func (h *history) foresee(s *cluster.Snapshot) *cluster.Snapshot {
	marked := map[*cluster.Template]bool{}
	for i := range s.Pods {
		if p := &s.Pods[i]; p.State == cluster.PodPending && !p.Template.ResourceClaims {
			marked[p.Template] = true
		}
	}
	foreseen := func(p cluster.Pod) bool {
		if p.State != cluster.PodNew { // which hardly any is
			return false
		}
		_, placed := h.planned[p.UID]
		return placed || marked[p.Template]
	}
	if !slices.ContainsFunc(s.Pods, foreseen) {
		return s
	}
	out := *s
	out.Pods = slices.Clone(s.Pods)
	for i := range out.Pods {
		if p := &out.Pods[i]; foreseen(*p) {
			p.State, p.Foreseen = cluster.PodPending, true
		}
	}
	return &out
}
