package agent

import (
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// retryPause keeps turns that cannot finish their work from following each other without a
// pause.
const retryPause = 2 * time.Second

// refusalsBeat is how long refused changes of nodes may wait for each other. In a large cluster, a turn for each
// of them would mean one turn after the other.
const refusalsBeat = 10 * time.Second

// nextTurn returns when the next turn is due if nothing changes: when a node will
// have been empty or old for long enough, or should be up, or a paused
// Provisioner may try again, and after the interval at the latest. What fell due
// since this turn began is due at once.
func (a *Agent) nextTurn(began time.Time, v *view.View) time.Time {
	now := time.Now()
	next := now.Add(a.options.Interval)
	at := func(t time.Time) {
		if t.After(began) && t.Before(next) {
			next = t
		}
	}
	at(a.inventory.Next(a.options.Interval))
	for _, t := range slices.Concat(a.buyer.Resumes(), a.history.gone.Resumes(), a.history.rooms.Resumes()) {
		at(t)
	}
	for _, t := range a.nodes.Resumes(v.Snapshot) {
		at(t.Truncate(refusalsBeat).Add(refusalsBeat))
	}
	at(a.takeover.Next())
	if last, _ := a.consolidation.Last(); last != nil {
		at(a.consolidation.Next(v.Cached))
	}
	at(a.consolidation.GuidesAgain())
	for _, d := range a.history.deferred {
		at(d.until)
	}
	for n := range v.Snapshot.EachNode() {
		if n.Provisioner == "" || n.Deleting {
			continue
		}
		if !n.UnreadySince.IsZero() {
			at(n.UnreadySince.Add(decide.ContactPatience))
		}
		for _, d := range a.options.Deadlines(n, v.ProvisionerOf(n)) {
			at(d.At)
		}
	}
	if a.inventory.Waits() || a.retry.Load() {
		at(now.Add(retryPause))
	}
	return next
}
