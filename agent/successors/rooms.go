package successors

import (
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Rooms are where plans have placed the pods of leaving nodes, from when they begin to stop until their successors
// should have come: no plan has a place for such pods, and what was bought for them is not empty. Only the planning loop
// uses them. Losing them at a restart may cost a machine that is bought again.
type Rooms struct {
	of map[string]room // by UID of the pod
}

type room struct {
	decide.Binding
	until time.Time // zero while the pod runs, or stops and has no successor yet
}

// Kept returns the rooms of pods that stop and whose successors may not be there yet, or that have gone lately, in the order
// of the pods' UIDs. The bindings are those of the last plan, by UID.
func (r *Rooms) Kept(s *cluster.Snapshot, planned map[string]decide.Binding, now time.Time) (out []decide.Binding) {
	if r.of == nil {
		r.of = map[string]room{}
	}
	stays, awaits := map[string]bool{}, map[string]bool{}
	for p := range s.EachPod() {
		stays[p.UID], awaits[p.UID] = p.State != cluster.PodTerminating, decide.AwaitsSuccessor(p, now)
	}
	for uid, b := range planned {
		if _, known := r.of[uid]; b.From != "" && !known {
			r.of[uid] = room{Binding: b}
		}
	}
	for uid, its := range r.of {
		switch {
		case awaits[uid]:
		case its.until.IsZero() && !stays[uid]:
			its.until = now.Add(patience)
			r.of[uid] = its
		case stays[uid] || !now.Before(its.until):
			delete(r.of, uid)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(r.of)) {
		out = append(out, r.of[uid].Binding)
	}
	return out
}

// Resumes returns when rooms are not kept any more; zero for those that are kept until something changes.
func (r *Rooms) Resumes() (at []time.Time) {
	for _, its := range r.of {
		at = append(at, its.until)
	}
	return at
}
