package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// observe reads the caches, adds what the agent has done since, and asks the cloud what each
// Provisioner may buy.
func (a *Agent) observe(ctx context.Context) *view.View {
	v := &view.View{
		Now:     time.Now(),
		Timeout: a.options.StartupTimeout,
		Cached:  a.cluster.Snapshot(),
		ByName:  map[string]*view.Provisioner{},
	}
	v.Snapshot = a.applied(v.Cached)
	a.consolidation.Observe(v.Cached, v.Now)
	v.Provisioners = a.provisioners(ctx)
	for _, p := range v.Provisioners {
		v.ByName[p.Raw.Name] = p
	}
	if began := a.began.Round(0); v.Now.Before(began) { // by the wall clock, which has been set back
		a.began = v.Now
	}
	v.Snapshot = withoutBadStamps(v.Promised(v.Snapshot), a.began, v.Now)
	v.Expected = a.history.batch.Expect(v.Snapshot, v.Now)
	for _, n := range a.avoided.AddFailed(v) {
		a.events.Warning(event.Node(n.Node), event.NeverRegistered, n.Why)
	}
	for _, p := range v.Provisioners {
		p.Market.Types = a.avoided.Apply(p)
	}
	a.thought += time.Since(v.Now)
	return v
}

// withoutBadStamps returns the snapshot without the emptiness timestamps from before the agent began, and without those of
// a clock that was ahead, which are set again or removed: pods may have come and gone while no agent led, and a node
// would stay until the future. The argument is not changed.
func withoutBadStamps(s *cluster.Snapshot, began, now time.Time) *cluster.Snapshot {
	out, copied := *s, false
	for i := range s.Nodes {
		since, marked := s.Nodes[i].EmptySince()
		if !marked || !since.Before(began.Truncate(time.Second)) && !since.After(now.Add(cluster.ClockSkew)) {
			continue
		}
		if !copied {
			out.Nodes, copied = slices.Clone(s.Nodes), true
		}
		out.Nodes[i].Annotations = maps.Clone(s.Nodes[i].Annotations)
		out.Nodes[i].Annotations[api.AnnotationEmptiness] = ""
	}
	return &out
}

// provisioners reads them, and blocks those that buy nothing now.
func (a *Agent) provisioners(ctx context.Context) []*view.Provisioner {
	all := a.reader.Read(ctx)
	for _, p := range all {
		if until, message := a.buyer.Paused(p.Raw.Name); p.Blocked == "" && message != "" {
			p.Block(view.ReasonLaunch, fmt.Sprintf("%s; next attempt at %s", message, amount.Clock(until)))
		} else {
			p.Failure = a.buyer.Retrying(p.Raw.Name)
		}
		if why := a.inventory.Refused(p.Raw.Name); p.Blocked == "" && why != "" {
			p.Block(view.ReasonNodeless, why)
		}
		if why := a.takeover.Left(p.Raw.Name); why != "" {
			p.Block(view.ReasonTakingOver, why)
		}
		if p.Raw.DeletionTimestamp != nil {
			p.Block(view.ReasonDeleting, "the Provisioner is being deleted")
		}
	}
	return all
}

// snapshot is the cluster as the caches will hold it once they know what the agent has done,
// which pods the scheduler is about to refuse, and which pods StatefulSets are about to
// replace.
func (a *Agent) snapshot() *cluster.Snapshot { return a.applied(a.cluster.Snapshot()) }

func (a *Agent) applied(cached *cluster.Snapshot) *cluster.Snapshot {
	s := a.surger.Cover(a.drainer.Kept(a.inventory.Counted(a.buyer.Apply(a.assumed.Apply(cached)))), a.cluster.Provisioners())
	now := time.Now()
	return batch.Presume(a.history.gone.Await(s.WithoutOldNominations(now), now), a.history.placed)
}

// verify compares a view with the cluster as it is now.
func (a *Agent) verify(v *view.View) *view.Verifier {
	return v.Verify(a.snapshot(), a.cluster.Provisioners())
}

// input is what the core decides on.
func (a *Agent) input(v *view.View) decide.Input {
	postponed := a.disrupter.Postponed()
	return decide.Input{
		Now:             v.Now,
		Snapshot:        v.Expected,
		Planned:         a.history.placements(v.Expected, v.Now),
		Deferred:        a.history.deferred.of(v.Expected, v.Now),
		Disturbed:       a.consolidation.Disturbed(),
		Moved:           a.consolidation.Moved(),
		NotConsolidated: !a.consolidation.Due(v.Cached, v.Now) || len(postponed) > 0 || !a.inventory.Complete(),
		Begun:           postponed,
		Unreplaced:      a.disrupter.Unreplaced(v.Expected),
		Settings:        a.options.Settings,
		Provisioners:    v.Markets(),
	}
}
