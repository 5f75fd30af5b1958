package agent

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Observer is what the agent knows of the cluster, from caches that lag a little
// behind the truth.
type Observer interface {
	// Snapshot returns the cluster as the caches hold it, sorted.
	Snapshot() *cluster.Snapshot
	// Provisioners returns them as written, without defaults, sorted by name. They
	// may not be changed.
	Provisioners() []*api.Provisioner
	// NodeTemplates returns the node profiles, sorted by name. They may not be changed.
	NodeTemplates() []*api.AWSNodeTemplate
	// Readings returns what there is to say about the text of Provisioners and node
	// profiles. Those with errors cannot be read, and the other lists lack them.
	Readings() []cluster.Reading
}

// Owners are the controllers of pods.
type Owners interface {
	// Wanted returns how many pods an owner makes. It asks the API server, so that the
	// answer is not older than the pods that the caches show. An owner of a kind that
	// it does not know is an error.
	Wanted(ctx context.Context, namespace string, owner cluster.Owner) (cluster.Wanted, error)
}

// Signals tells when to look.
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
}

// Nodes changes Node objects.
type Nodes interface {
	// CreateNode creates the object, or takes one of the same name over: labels,
	// annotations, finalizer and owner are set, taints are left as they are.
	CreateNode(ctx context.Context, node *corev1.Node) error
	// PatchNode returns cluster.ErrGone if there is no such node.
	PatchNode(ctx context.Context, name string, change cluster.NodeChange) error
	// DeleteNode asks for a deletion, which the finalizer holds up until the drain
	// is over. A node that is gone is no error.
	DeleteNode(ctx context.Context, name string) error
}

// Pods reads, binds and evicts pods.
type Pods interface {
	// PodsOn returns the pods that are bound to a node and have not finished. It asks the
	// API server, and not the caches.
	PodsOn(ctx context.Context, node string) ([]cluster.Pod, error)
	// Bind returns cluster.ErrStale if the pod is gone, has changed or is bound
	// elsewhere. A pod that is on the node already is no error.
	Bind(ctx context.Context, pod cluster.PodKey, node string) error
	// Evict returns a *cluster.BlockedError while a disruption budget forbids it. A
	// pod that is gone is no error.
	Evict(ctx context.Context, pod cluster.PodKey) error
	// DeletePod deletes without regard to disruption budgets, with that time to stop or
	// cluster.OwnGrace.
	DeletePod(ctx context.Context, pod cluster.PodKey, grace time.Duration) error
}

// Reports tells users what happens.
type Reports interface {
	// Event is deduplicated and rate-limited, and does not wait.
	Event(ref cluster.ObjectRef, eventType, reason, message string)
	// UpdateProvisionerStatus writes only what differs.
	UpdateProvisionerStatus(ctx context.Context, name string, status api.ProvisionerStatus) error
	// UpdateNodeTemplateStatus writes only what differs.
	UpdateNodeTemplateStatus(ctx context.Context, name string, status api.AWSNodeTemplateStatus) error
	// SetProvisionerFinalizer adds or removes the finalizer that keeps a
	// Provisioner until its nodes are gone.
	SetProvisionerFinalizer(ctx context.Context, name string, present bool) error
}

// Machines buys machines and gives them back.
type Machines interface {
	// Launch is idempotent in the order's launch id. Offerings that were refused
	// are unavailable in later Markets.
	Launch(ctx context.Context, order offer.Order) (offer.Delivery, error)
	// Instances returns everything of this cluster, and may for a while return what
	// is gone.
	Instances(ctx context.Context) ([]offer.Instance, error)
	// Terminate returns the ids that are now going or were gone already.
	Terminate(ctx context.Context, ids []string) (gone []string, err error)
}

// Ownership sees to it that machines are ours, and ours alone.
type Ownership interface {
	// Claim makes the cloud refuse orders of other processes that are still on their
	// way. A new leader calls it before it looks at the instances for the first time.
	Claim(ctx context.Context) error
	// Find returns those of the instances that there are, also without the tags by
	// which Instances finds them.
	Find(ctx context.Context, ids []string) ([]offer.Instance, error)
	// Retag puts these tags back, with the Provisioner and launch id that the instance
	// names here. One that nothing marks as this cluster's any more is an error.
	Retag(ctx context.Context, i offer.Instance) error
}

// Leftovers is what was made besides machines.
type Leftovers interface {
	// Sweep removes what no machine uses any more, such as launch templates.
	Sweep(ctx context.Context) error
	// Forget removes what was made for a Provisioner's machines, now that it has none.
	Forget(ctx context.Context, provisioner string) error
}

// Learner corrects what Market estimates.
type Learner interface {
	// Learn takes over what a node has shown. It is cheap to repeat.
	Learn(o offer.Observed)
	// Learnt returns the figures that stand in the place of estimates, sorted.
	Learnt() []offer.Learnt
}

// Cluster is everything that the agent asks of a cluster.
type Cluster interface {
	Observer
	Owners
	Signals
	Nodes
	Pods
	Reports
}

// Cloud is everything that the agent asks of a cloud.
type Cloud interface {
	view.Market
	Machines
	Ownership
	Leftovers
	Learner
}
