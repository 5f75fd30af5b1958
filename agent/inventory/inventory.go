// Package inventory compares the cloud's instances with the nodes of the cluster: each
// instance of ours gets its Node object, or is given back, and each node whose instance
// is gone is let go.
package inventory

import (
	"context"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Listing says what instances there are.
type Listing interface {
	// Claim makes the cloud refuse orders of other processes that are still on their
	// way. A new leader calls it before it looks at the instances for the first time.
	Claim(ctx context.Context) error
	// Instances returns everything of this cluster, and may for a while return what
	// is gone.
	Instances(ctx context.Context) ([]offer.Instance, error)
	// Find returns those of the instances that there are, also without the tags by
	// which Instances finds them.
	Find(ctx context.Context, ids []string) ([]offer.Instance, error)
}

// Machines changes instances.
type Machines interface {
	// Terminate returns the ids that are now going or were gone already.
	Terminate(ctx context.Context, ids []string) (gone []string, err error)
	// Retag puts these tags back, with the Provisioner and launch id that the instance
	// names here. One that nothing marks as this cluster's any more is an error.
	Retag(ctx context.Context, i offer.Instance) error
}

// Ports are what an Inventory works with. All are to be set.
type Ports struct {
	Listing  Listing
	Machines Machines
	Nodes    *nodes.Writer
	Assumed  *nodes.Assumptions
	Events   *event.Recorder
	Metrics  *metrics.Metrics
	Log      hclog.Logger
	// Launching reports whether an instance belongs to an order that is still open.
	Launching func(launchID string) bool
	// Replan and Redrain are called when there is something to plan, and to drain.
	Replan, Redrain func()
	// StartupTimeout is how long a machine may take to come up.
	StartupTimeout time.Duration
}

// Inventory knows the instances. The planning loop compares; other loops may ask for
// what was found.
type Inventory struct {
	Ports
	*ledger
	*owners
	retags *pace.Retries // by instance id: tags that could not be put back
}

// New returns an Inventory that has compared nothing yet.
func New(p Ports) *Inventory {
	return &Inventory{Ports: p, ledger: newLedger(), owners: newOwners(), retags: pace.NewRetries(time.Minute, time.Hour)}
}

// Known returns the snapshot with what the agent has done and the caches do not show
// yet, and with the Provisioners of nodes by the tags of their instances.
func (c *Inventory) Known(seen *cluster.Snapshot) *cluster.Snapshot {
	return c.Apply(c.Assumed.Apply(seen))
}

// Terminated notes that an instance was asked to terminate. Unless the cloud has
// confirmed that it is going, it may still be there.
func (c *Inventory) Terminated(id string, confirmed bool) {
	switch {
	case confirmed:
		c.gaveBack(id)
	case !c.Untagged(id): // it may be by now
		c.Unsettled()
		c.Replan()
	}
}

// Drained notes that a Node object was let go.
func (c *Inventory) Drained(n *cluster.Node) {
	c.Assumed.Gone(n.Name)
	c.Scaled(n.Provisioner)
	c.Replan()
}

// Bought notes an instance whose Node object is about to be made. Until the cloud lists
// it, nothing else says whose it is where the node loses its labels.
func (c *Inventory) Bought(i offer.Instance) {
	c.own(i)
	c.Scaled(i.Provisioner)
}

// LostNode reports whether a machine has lost its Node object since the last call,
// though nobody has given it back: it counts, and has to get another one.
func (c *Inventory) LostNode(s *cluster.Snapshot) bool { return c.lostNode(s, c.wasGivenBack) }

// HasInstances reports whether the cloud has machines of a Provisioner, or cannot tell.
func (c *Inventory) HasInstances(ctx context.Context, provisioner string) bool {
	instances, err := c.instances(ctx)
	return err != nil || slices.ContainsFunc(instances, func(i offer.Instance) bool {
		return i.Provisioner == provisioner && i.State != offer.StateStopping && i.State != offer.StateGone
	})
}
