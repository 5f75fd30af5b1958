// Package view is what one decision of a turn is made from: the cluster, its
// Provisioners with what they may buy, and the Node objects that come of it. It also
// tells whether what a plan was made from still holds.
package view

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// View is everything that one decision of a turn is made from.
type View struct {
	Now          time.Time
	Timeout      time.Duration     // for a machine to come up
	Cached       *cluster.Snapshot // as the caches hold it
	Snapshot     *cluster.Snapshot // with what the agent has done since
	Expected     *cluster.Snapshot // snapshot, with the replicas that are expected
	Provisioners []*Provisioner    // sorted by name
	ByName       map[string]*Provisioner
}

// Promised adds the devices that nodes do not report yet, as in the core.
func (v *View) Promised(s *cluster.Snapshot) *cluster.Snapshot {
	return decide.Promised(s, v.Markets(), v.Now, v.Timeout)
}

// Markets are the Provisioners as the core sees them.
func (v *View) Markets() []decide.Provisioner {
	var out []decide.Provisioner
	for _, p := range v.Provisioners {
		out = append(out, decide.NewProvisioner(p.Spec, p.Market, p.Blocked))
	}
	return out
}

// Prices returns what a node costs now, or what it cost when it was bought if nobody sells it any more.
func (v *View) Prices() func(n *cluster.Node) offer.Price {
	markets := v.Markets()
	return func(n *cluster.Node) offer.Price { return decide.PriceOf(n, markets) }
}

// ProvisionerOf returns the spec of a node's Provisioner; nil where it is gone.
func (v *View) ProvisionerOf(n *cluster.Node) *api.Provisioner {
	if p := v.ByName[n.Provisioner]; p != nil {
		return p.Spec
	}
	return nil
}

// NodesOf returns the nodes of a Provisioner, in order.
func (v *View) NodesOf(provisioner string) []*cluster.Node {
	return v.Snapshot.NodesThat(func(n *cluster.Node) bool { return n.Provisioner == provisioner })
}

// Capacities sums the capacity of each Provisioner's nodes, for its limits.
func Capacities(s *cluster.Snapshot) map[string]amount.List {
	out := map[string]amount.List{}
	for n := range s.EachNode() {
		out[n.Provisioner] = out[n.Provisioner].Plus(n.Capacity.OfNode())
	}
	return out
}
