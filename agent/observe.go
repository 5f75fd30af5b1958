package agent

import (
	"context"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// view is everything that one decision of a turn is made from.
type view struct {
	now          time.Time
	timeout      time.Duration // for a machine to come up
	snapshot     *cluster.Snapshot
	expected     *cluster.Snapshot // snapshot, with the replicas that are expected
	provisioners []*provisioner    // sorted by name
	nodes        map[string]*cluster.Node
	byName       map[string]*provisioner
}

// observe reads the caches, with what the agent has done since, and asks the
// cloud what each Provisioner may buy.
func (a *Agent) observe(ctx context.Context) *view {
	v := &view{
		now:      time.Now(),
		snapshot: a.snapshot(),
		nodes:    map[string]*cluster.Node{},
		byName:   map[string]*provisioner{},
	}
	v.provisioners = a.provisioners(ctx)
	v.timeout = a.options.StartupTimeout
	v.snapshot = v.promised(v.snapshot)
	v.expected = a.history.batch.Expect(v.snapshot, v.now)
	a.avoided.duds(v)
	for _, p := range v.provisioners {
		p.market.Types = a.avoided.apply(p.market.Types, p.raw.Name)
	}
	for i := range v.snapshot.Nodes {
		v.nodes[v.snapshot.Nodes[i].Name] = &v.snapshot.Nodes[i]
	}
	for _, p := range v.provisioners {
		v.byName[p.raw.Name] = p
	}
	a.thought += time.Since(v.now)
	return v
}

// promised adds the devices that nodes do not report yet, as in the core.
func (v *view) promised(s *cluster.Snapshot) *cluster.Snapshot {
	return decide.Promised(s, v.markets(), v.now, v.timeout)
}

// snapshot is the cluster as the caches will hold it once they know what the agent
// has done, what the scheduler is about to say, and whom StatefulSets are about to
// replace.
func (a *Agent) snapshot() *cluster.Snapshot {
	s := a.owners.apply(a.purchases.apply(a.assumed.Apply(a.cluster.Snapshot())))
	return batch.Presume(a.history.heirs.await(s, time.Now()), a.history.placed)
}

// input is what the core decides on.
func (a *Agent) input(v *view) decide.Input {
	return decide.Input{
		Now:          v.now,
		Snapshot:     v.expected,
		Planned:      a.history.placements(v.expected),
		Deferred:     a.history.deferred.of(v.expected, v.now),
		Settings:     a.options.settings(),
		Provisioners: v.markets(),
	}
}

func (o *Options) settings() decide.Settings {
	return decide.Settings{
		NodeCost:       o.NodeCost,
		StartupTimeout: o.StartupTimeout,
		UnhealthyAfter: o.UnhealthyAfter,
		MinLifetime:    o.MinLifetime,
		EvictOwnerless: o.EvictOwnerless,
		PackingBudget:  o.PackingBudget,
	}
}

// markets are the Provisioners as the core sees them.
func (v *view) markets() []decide.Provisioner {
	var out []decide.Provisioner
	for _, p := range v.provisioners {
		out = append(out, decide.NewProvisioner(p.spec, p.market, p.blocked))
	}
	return out
}

// nodesOf returns the nodes of a Provisioner, in order.
func (v *view) nodesOf(provisioner string) []*cluster.Node {
	var out []*cluster.Node
	for i := range v.snapshot.Nodes {
		if n := &v.snapshot.Nodes[i]; n.Provisioner == provisioner {
			out = append(out, n)
		}
	}
	return out
}
