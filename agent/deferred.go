package agent

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Pods whose planning takes more work than a pod may take are not planned in each turn,
// but after 30 s, and then after twice as long each time, up to 10 min.
const (
	deferFor     = 30 * time.Second
	deferMost    = 10 * time.Minute
	deferDoubled = 5 // times, which exceeds deferMost
)

// deferrals are the pods that are planned later, by owner: another pod of the same owner
// asks for the same. Losing them at a restart costs a turn's work. Only the planning loop
// uses them.
type deferrals map[string]*deferral

type deferral struct {
	template *cluster.Template
	reason   string
	until    time.Time
	seen     time.Time
	failures int
}

// deferrable identifies a pod by its owner, if it has one.
func deferrable(p *cluster.Pod) string { return cmp.Or(p.Owner.UID, p.UID) }

// of returns the pods that are not planned now, with the reason.
func (d deferrals) of(s *cluster.Snapshot, now time.Time) map[cluster.PodKey]string {
	if len(d) == 0 {
		return nil
	}
	out := map[cluster.PodKey]string{}
	for p := range s.EachPod() {
		if p.State != cluster.PodPending {
			continue
		}
		is := d[deferrable(p)]
		if is == nil || !is.template.SameButIdentity(p.Template) {
			continue
		}
		if is.seen = now; now.Before(is.until) {
			out[p.PodKey] = fmt.Sprintf("%s; next attempt at %s", is.reason, amount.Clock(is.until))
		}
	}
	maps.DeleteFunc(d, func(_ string, is *deferral) bool { return now.Sub(is.seen) > 2*deferMost })
	return out
}

// note defers the pods of a plan that were exhausted, and says so in the plan. It reports whether
// pods are postponed, which are not deferred: the next turn plans them.
func (d deferrals) note(plan *decide.Plan, s *cluster.Snapshot, now time.Time) (postponed bool) {
	var pods map[string]*cluster.Pod
	for i := range plan.Unplaced {
		u := &plan.Unplaced[i]
		if !u.Exhausted || u.From != "" {
			continue
		}
		if u.Postponed {
			postponed = true
			continue
		}
		if pods == nil {
			pods = view.ByUID(s)
		}
		p := pods[u.Pod.UID]
		is := d[deferrable(p)]
		if is == nil || is.reason != u.Reason {
			is = &deferral{}
			d[deferrable(p)] = is
		}
		if !now.Before(is.until) { // the first of its owner's pods in this plan
			is.until = now.Add(min(deferFor<<min(is.failures, deferDoubled), deferMost))
			is.failures++
		}
		is.template, is.reason, is.seen = p.Template, u.Reason, now
		u.Reason = fmt.Sprintf("%s; next attempt at %s", is.reason, amount.Clock(is.until))
	}
	return postponed
}
