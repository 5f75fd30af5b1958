// Package live keeps the nodes of a simulated cluster with the controllers of the published
// module sigs.k8s.io/karpenter, in virtual time.
//
// These parts are the module's own code, unchanged: the provisioner and its batcher, the disruption
// controller with all its methods and validators, the queue that waits for replacements, the
// state of the cluster and its cost, and the controllers that note pod events and mark
// NodeClaims as consolidatable.
//
// These parts are models, because they talk to an API server or a cloud:
//   - The API server is a store in memory (store.go), which shows the pods and nodes of the simulated
//     cluster. Its caches are 5 ms late.
//   - The cloud sells the cheapest offering that a NodeClaim allows and that has room for it
//     (machines.go), as the AWS provider asks EC2 for. It never refuses.
//   - A NodeClaim is registered and initialized when its node is ready.
//   - A node is drained as its terminator does for pods without priorities: each pod is evicted through the
//     disruption budgets, refused ones are tried again after a second, and the machine ends
//     when no pod is left. DaemonSet pods stay, as if they tolerated the taint.
//   - The controllers' watches are the loops of this package. The loop around the provisioner is
//     that of its Reconcile, which cannot run here: see New.
//
// Computing takes no virtual time, so that none of its timeouts is ever reached. Expiry, repair and
// interruptions are left out: nothing of that kind happens.
package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	nodeclaims "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/podevents"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/metrics"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/state/cost"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/peer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// Policies are its consolidation policies.
var Policies = []string{
	string(v1.ConsolidationPolicyWhenEmpty), string(v1.ConsolidationPolicyWhenEmptyOrUnderutilized), string(v1.ConsolidationPolicyBalanced),
}

const (
	// consolidateAfter is Packhorse's default. The module's own is 0.
	consolidateAfter = 30 * time.Second
	// budget is the module's default, and Packhorse's.
	budget = "10%"
	// The module's defaults for batches of pods.
	batchMax, batchIdle = 10 * time.Second, time.Second
	// retrigger is how often it looks again at pods that wait and at nodes that leave.
	retrigger = 10 * time.Second
	// retry is how long a loop waits after an error, and between two looks at what it waits for.
	retry = time.Second
	// commands is how many commands the queue takes before its channel, which nobody reads
	// here, is full.
	commands = 10_000
)

// Peer is the module's controllers. It serves one cluster.
type Peer struct {
	store       *store
	cloud       *cloud
	state       *state.Cluster
	cost        *cost.ClusterCost
	provisioner *provisioning.Provisioner
	disruption  *disruption.Controller
	queue       *disruption.Queue
	claims      *nodeclaims.Controller
	podEvents   *podevents.Controller
	started     map[*disruption.Command]bool

	// These are set by Start.
	world   *sim.World
	process *sim.Process
	batcher *provisioning.Batcher[types.UID]
	failed  func(error)
	running sync.WaitGroup
}

// silent drops events.
type silent struct{}

func (silent) Publish(...events.Event) {}

// New returns the controllers for one cluster, with a policy. It must be called outside of the
// bubble of testing/synctest in which they run: some of them start goroutines that never end.
// The batcher must be made inside, or its channel would stop the virtual clock. That is why it
// is not the provisioner's own.
func New(policy string, types []offer.InstanceType, p *api.Provisioner, daemons ...appsv1.DaemonSet) *Peer {
	crlog.SetLogger(logging.NopLogger)
	pool := peer.Pool(p)
	pool.Spec.Template.Spec.NodeClassRef = nodeClass
	pool.Spec.Disruption = v1.Disruption{
		ConsolidationPolicy: v1.ConsolidationPolicy(policy),
		ConsolidateAfter:    v1.NillableDuration{Duration: ptr.To(consolidateAfter)},
		Budgets:             []v1.Budget{{Nodes: budget}},
	}
	for _, condition := range []string{v1.ConditionTypeValidationSucceeded, v1.ConditionTypeNodeClassReady} {
		pool.StatusConditions().SetTrue(condition)
	}
	clk := clock.RealClock{}
	out := &Peer{cloud: &cloud{types: peer.InstanceTypes(types)}, started: map[*disruption.Command]bool{}}
	out.store = newStore(pool, daemons)
	out.state = state.NewCluster(clk, out.store, out.cloud)
	out.cost = cost.NewClusterCost(context.Background(), out.cloud, out.store)
	out.cost.UpdateOfferings(context.Background(), pool, out.cloud.types)
	out.provisioner = provisioning.NewProvisioner(out.store, silent{}, out.cloud, out.state, clk, nil, nil)
	out.queue = disruption.NewQueue(out.store, silent{}, out.state, clk, out.provisioner)
	out.disruption = disruption.NewController(clk, out.store, out.provisioner, out.cloud, silent{}, out.state, out.queue, out.cost)
	out.claims = nodeclaims.NewController(clk, out.store, out.cloud)
	out.podEvents = podevents.NewController(clk, out.store, out.cloud)
	return out
}

// Start runs the controllers on a cluster until the context ends, and reports errors to the
// function. What it returns waits for the end.
func (p *Peer) Start(ctx context.Context, w *sim.World, failed func(error)) (wait func()) {
	ctx = options.ToContext(ctx, &options.Options{
		PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
		CPURequests: 1000, IgnoreDRARequests: true, BatchMaxDuration: batchMax, BatchIdleDuration: batchIdle,
	})
	p.world, p.process, p.failed = w, w.Connect(nil), failed
	p.batcher = provisioning.NewBatcher[types.UID](clock.RealClock{})
	p.store.patchNode, p.store.dirty = p.patchNode, make(chan struct{}, 1)
	for _, loop := range []func(context.Context){p.mirror, p.keepClaims, p.provision, p.disrupt, p.orchestrate} {
		p.running.Go(func() { loop(ctx) })
	}
	return p.running.Wait
}

// fail reports an error, unless it is only the end.
func (p *Peer) fail(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
		p.failed(fmt.Errorf("%s: %w", what, err))
	}
}

// pause waits, and reports whether the context goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// provision buys for the pods that wait, batch by batch, as the provisioner's Reconcile does.
func (p *Peer) provision(ctx context.Context) {
	ctx = injection.WithControllerName(ctx, p.provisioner.Name())
	for ctx.Err() == nil {
		if !p.batcher.Wait(ctx) || !p.state.Synced(ctx) {
			continue
		}
		found, err := p.provisioner.Schedule(ctx)
		if err == nil && len(found.NewNodeClaims) > 0 {
			_, err = p.provisioner.CreateNodeClaims(ctx, found.NewNodeClaims, provisioning.WithReason(metrics.ProvisionedReason), provisioning.RecordPodNomination)
		}
		p.fail(ctx, "provision", err)
	}
}

// disrupt runs the disruption controller.
func (p *Peer) disrupt(ctx context.Context) {
	for ctx.Err() == nil {
		found, err := p.disruption.Reconcile(ctx)
		if err != nil {
			p.fail(ctx, "disrupt", err)
			found.RequeueAfter = retry
		}
		if found.Requeue { // something has changed in the meantime
			found.RequeueAfter = retry
		}
		if !pause(ctx, found.RequeueAfter) {
			return
		}
	}
}

// orchestrate runs the queue for each of its commands, once a second.
func (p *Peer) orchestrate(ctx context.Context) {
	for pause(ctx, retry) {
		for _, c := range p.queue.GetCommands() {
			p.started[c] = true
			_, err := p.queue.Reconcile(ctx, c.Candidates[0].NodeClaim)
			p.fail(ctx, "orchestrate", err)
		}
		if len(p.started) > commands*9/10 {
			p.failed(fmt.Errorf("orchestrate: %d commands are more than the queue of this package can hold", len(p.started)))
			return
		}
	}
}
