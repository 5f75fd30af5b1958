package agent

import (
	"context"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/bind"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/disrupt"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/inventory"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/launch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/release"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/surge"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Owners are the controllers of pods.
type Owners interface {
	// Wanted returns how many pods an owner makes. It asks the API server, so that the
	// answer is not older than the pods that the caches show. An owner of a kind that
	// it does not know is an error.
	Wanted(ctx context.Context, namespace string, owner cluster.Owner) (cluster.Wanted, error)
}

// Signals says when something has changed.
type Signals interface {
	// Changed has a token when something changed since it was last drained.
	Changed() <-chan struct{}
	// Unbound has a token when a pod that is on no node came, changed, went or got a
	// node since it was last drained.
	Unbound() <-chan struct{}
	// Synced reports whether all caches are filled, and can be kept up to date.
	Synced() bool
	// Waiting lists the caches for which Synced is false, each with the reason.
	Waiting() []string
	// Standby says why no NodePool is served for now, such as because Karpenter is
	// running; empty if they are served, or if the agent is to serve none.
	Standby() string
}

// Statuses are what the agent writes on Provisioners and node profiles.
type Statuses interface {
	// UpdateProvisionerStatus writes only what differs.
	UpdateProvisionerStatus(ctx context.Context, name string, status api.ProvisionerStatus) error
	// UpdateNodeTemplateStatus writes only what differs.
	UpdateNodeTemplateStatus(ctx context.Context, name string, status api.AWSNodeTemplateStatus) error
	release.Finalizers
}

// Leftovers is what was created in the cloud besides machines.
type Leftovers interface {
	// Sweep removes what no machine uses any more, such as launch templates.
	Sweep(ctx context.Context) error
	release.Leftovers
}

// Learner corrects what Market estimates.
type Learner interface {
	// Learn records what a node has shown. Repeating it is cheap.
	Learn(o offer.Observed)
	// Learnt returns the figures that replace estimates, sorted.
	Learnt() []offer.Learnt
}

// Cluster is everything that the agent asks of a cluster. What it reads comes from
// caches that lag a little behind the truth. A call ends within seconds, whatever the API
// server does.
type Cluster interface {
	disrupt.Cluster
	view.Texts
	Owners
	Signals
	nodes.API
	bind.Pods
	drain.Pods
	disrupt.Pods
	surge.Cluster
	event.Sink
	Statuses
}

// Cloud is everything that the agent asks of a cloud. Each request that a call makes ends
// within seconds, whatever the cloud does.
type Cloud interface {
	view.Market
	launch.Machines
	inventory.Listing
	inventory.Machines
	Leftovers
	Learner
}
