// Package inventory compares the cloud's instances with the nodes of the cluster. Each instance of a
// Provisioner gets its Node object or is terminated, and each node whose instance is gone is deleted.
package inventory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Listing lists instances.
type Listing interface {
	// Claim makes the cloud refuse orders that other processes have already sent. A new leader calls
	// it before it lists the instances for the first time.
	Claim(ctx context.Context) error
	// Instances returns all instances of the cluster, including some that are gone.
	Instances(ctx context.Context) ([]offer.Instance, error)
	// Find returns the instances with these ids that exist, even if they lack the tags by which
	// Instances finds them.
	Find(ctx context.Context, ids []string) ([]offer.Instance, error)
}

// Machines changes instances.
type Machines interface {
	// Terminate returns the ids of the instances that are being terminated or already gone.
	Terminate(ctx context.Context, ids []string) (gone []string, err error)
	// Retag puts the tags back, with the Provisioner and launch id of i. It is an error if nothing
	// marks the instance as one of this cluster any more.
	Retag(ctx context.Context, i offer.Instance) error
}

// Ports are what an Inventory works with. All are to be set.
type Ports struct {
	Listing  Listing
	Reader   nodes.Reader
	Machines Machines
	Nodes    *nodes.Writer
	Assumed  *nodes.Assumptions
	Events   *event.Recorder
	Metrics  *metrics.Metrics
	Log      hclog.Logger
	// Launching reports whether an instance belongs to an order that is still open.
	Launching func(launchID string) bool
	// Ended is called with a node whose machine has ended: if it was not up yet, machines like it are not
	// to be bought again and again.
	Ended func(n *cluster.Node)
	// Replan and Redrain are called when there is something to plan, or to drain.
	Replan, Redrain func()
	// StartupTimeout is how long a machine may take to become a ready node.
	StartupTimeout time.Duration
}

// Inventory knows the instances. The planning loop compares them with the nodes; other loops may read
// the results.
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
func (inv *Inventory) Known(seen *cluster.Snapshot) *cluster.Snapshot {
	return inv.Apply(inv.Assumed.Apply(seen))
}

// Counted is Apply for planning and limits. It removes the Provisioner from two kinds of nodes, for which the agent
// would otherwise wait for ever: nodes whose machine is gone and that only other programs' finalizers hold, and nodes
// of other programs' machines to which somebody has given the label of a Provisioner. It marks those whose machines the
// cloud has refused for long to terminate.
func (inv *Inventory) Counted(s *cluster.Snapshot) *cluster.Snapshot {
	out := inv.Apply(s)
	left := func(n cluster.Node) bool {
		if n.Provisioner == "" || n.HeldBy(api.Finalizer) {
			return false
		}
		foreign := n.ProviderID != "" && n.Annotations[api.AnnotationLaunchID] == "" && !inv.knows(n.ProviderID) // without an id, it is being bought
		return foreign || n.Deleting && inv.InstanceGone(n.ProviderID)
	}
	denied := func(n cluster.Node) bool { return n.Deleting && inv.deniedForLong(n.InstanceID()) }
	if !slices.ContainsFunc(out.Nodes, func(n cluster.Node) bool { return left(n) || denied(n) }) {
		return out
	}
	out.Nodes = slices.Clone(out.Nodes)
	for i := range out.Nodes {
		out.Nodes[i].Unterminated = denied(out.Nodes[i])
		if left(out.Nodes[i]) {
			out.Nodes[i].Provisioner = ""
		}
	}
	return out
}

// Terminated notes that the agent has terminated an instance, and whether the cloud has confirmed it. If not, its
// node still counts, and terminations that are denied again and again keep nobody from buying.
func (inv *Inventory) Terminated(id string, confirmed bool) {
	if confirmed {
		inv.noteTerminated(id)
		return
	}
	inv.noteDenied(id)
	if !inv.Untagged(id) { // the denial may be due to tags that were lost since the last comparison
		inv.want()
		inv.Replan()
	}
}

// Drained notes that the finalizer was removed from a Node object.
func (inv *Inventory) Drained(n *cluster.Node) {
	inv.Assumed.Gone(n.Name)
	inv.Scaled(n.Provisioner)
	inv.Replan()
}

// Bought notes an instance that was bought. Until the cloud lists it, nothing
// else tells its Provisioner if the node loses its labels.
func (inv *Inventory) Bought(i offer.Instance) {
	inv.own(i)
	inv.Scaled(i.Provisioner)
}

// Runs reports whether an instance is ours and ran when the cloud was last asked.
func (inv *Inventory) Runs(id string) bool { return inv.isRunning(id) && !inv.wasTerminated(id) }

// InstanceNew reports whether answers of the cloud may still lack an instance that runs, because it is new. The cloud controller
// manager and the agent do not ask at the same time, nor the same server.
func (inv *Inventory) InstanceNew(providerID string) bool {
	i := inv.machineOf(providerID)
	return i.Runs() && time.Since(i.LaunchedAt) < 2*offer.ListingLag && !inv.wasTerminated(i.ID)
}

// LostNode reports whether the Node object of a machine has gone since the last call although the
// machine was not terminated. The machine still counts, and needs another Node object.
func (inv *Inventory) LostNode(s *cluster.Snapshot) bool { return inv.lostNode(s, inv.wasTerminated) }

// Occupied returns the Provisioners that have machines, including machines that ran before and are missing from the
// cloud's last answer. Before the first comparison it returns an error, because orders of an earlier leader may not be
// listed until Claim has been called.
func (inv *Inventory) Occupied(ctx context.Context) (map[string]bool, error) {
	if !inv.owned.Load() {
		return nil, errors.New("no instances were compared yet")
	}
	instances, err := inv.Listing.Instances(ctx)
	if err != nil && ctx.Err() == nil {
		inv.Metrics.Failed("Instances")
		inv.Log.Warn("could not list the instances of Provisioners without nodes", "error", err)
	}
	occupied := map[string]bool{}
	for _, i := range instances {
		if i.Runs() {
			occupied[i.Provisioner] = true
			inv.runs(i) // the next answer may lack it
		}
	}
	for _, i := range inv.leftOut() {
		if !inv.wasTerminated(i.ID) {
			occupied[i.Provisioner] = true
		}
	}
	return occupied, err
}
