package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/bind"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/consolidation"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/disrupt"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/inventory"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/notice"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/purchase"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/report"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/surge"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Options are the knobs of an agent. The zero value of each means its default.
type Options struct {
	// BatchIdle is how long no further pod may come up before a batch is planned: 100 ms.
	BatchIdle time.Duration
	// BatchMax bounds the wait while more keep coming: 10 s.
	BatchMax time.Duration
	// StartupTimeout is how long a machine may take to come up: 15 min.
	StartupTimeout time.Duration
	// UnhealthyAfter is how long a node that has been up may be not ready before it is
	// replaced: 10 min; negative means for ever.
	UnhealthyAfter time.Duration
	// MinLifetime is how long a node in use stays at least before it is replaced for
	// drift: 5 min; negative means not at all.
	MinLifetime time.Duration
	// EvictOwnerless lets nodes go voluntarily although pods without a controller run
	// there.
	EvictOwnerless bool
	// NotGuided: new pods are not led away from nodes that should become empty.
	NotGuided bool
	// NotSteered: pods on nodes that should become empty are not marked to be ended first
	// where their owners shrink.
	NotSteered bool
	// Notices is where the cloud says what happens to machines; nil for nowhere.
	Notices notice.Notices
	// Karpenter is where the machines and NodeClaims of Karpenter are, which are taken over
	// with the NodePools that are served; the zero value for nowhere.
	Karpenter takeover.Source
	// Interval is the longest time between two turns, and between two comparisons
	// of the nodes with the cloud's instances: 1 min.
	Interval time.Duration
	// NodeCost is the cost of having one more machine, beyond its price; see decide.Settings.
	NodeCost offer.Price
	// PackingBudget bounds the effort spent on improving a plan.
	PackingBudget time.Duration
	// Metrics is where the agent counts what it does: metrics.New().
	Metrics *metrics.Metrics
	// Decide makes the plans: decide.Decide. Whoever wants to see what is decided,
	// or to keep it from being carried out, puts a function of their own around it. A
	// request for the status may call it while the planning loop does.
	Decide func(decide.Input) decide.Plan
}

func (o Options) withDefaults() Options {
	fill := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	fill(&o.BatchIdle, 100*time.Millisecond)
	fill(&o.BatchMax, 10*time.Second)
	usual := decide.DefaultSettings()
	fill(&o.StartupTimeout, usual.StartupTimeout)
	fill(&o.UnhealthyAfter, usual.UnhealthyAfter)
	fill(&o.MinLifetime, usual.MinLifetime)
	fill(&o.Interval, time.Minute)
	if o.Decide == nil {
		o.Decide = decide.Decide
	}
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	return o
}

// Agent gives a cluster the nodes that it needs. Make it with New.
type Agent struct {
	cluster   Cluster
	cloud     Cloud
	options   Options
	log       hclog.Logger
	metrics   *metrics.Metrics
	events    *event.Recorder
	nodes     *nodes.Writer
	drainer   *drain.Drainer
	reader    *view.Reader
	buyer     *purchase.Buyer
	inventory *inventory.Inventory
	binder    *bind.Binder
	disrupter *disrupt.Disrupter
	surger    *surge.Surger
	notices   *notice.Watcher
	reporter  *report.Reporter
	takeover  *takeover.Takeover // nil: there is nothing to take over
	gatherer  *gatherer

	plan func(decide.Input) decide.Plan

	replan  signal // something changed that planning looks at
	redrain signal // something changed that draining looks at

	leading atomic.Bool
	retry   atomic.Bool // something was left for the next turn
	pulse   pulse

	// thought is how long the last turn took besides its calls. Only the planning
	// loop uses it.
	thought time.Duration

	assumed *nodes.Assumptions
	avoided *avoided
	history history
	// consolidation remembers what was last said of nodes in use.
	consolidation *consolidation.Memory
	landings      *consolidation.Landings
	status        statusCache
}

// New returns an agent that is not running yet.
func New(c Cluster, cloud Cloud, options Options, log hclog.Logger) *Agent {
	options = options.withDefaults()
	a := &Agent{
		cluster:       c,
		cloud:         cloud,
		options:       options,
		log:           log,
		metrics:       options.Metrics,
		plan:          options.Decide,
		replan:        newSignal(),
		redrain:       newSignal(),
		assumed:       nodes.NewAssumptions(),
		events:        event.NewRecorder(c),
		avoided:       newAvoided(),
		history:       newHistory(),
		consolidation: consolidation.New(),
	}
	a.nodes = &nodes.Writer{API: c, Assumed: a.assumed, Log: log, Deleted: a.redrain.set, Failed: func() { a.retry.Store(true) }}
	a.reader = &view.Reader{Texts: c, Market: cloud, Metrics: a.metrics, Log: log}
	a.inventory = inventory.New(inventory.Ports{
		Listing: cloud, Machines: cloud, Nodes: a.nodes, Assumed: a.assumed, Events: a.events, Metrics: a.metrics, Log: log,
		Launching: func(id string) bool { return a.buyer.Launching(id) },
		Replan:    a.replan.set, Redrain: a.redrain.set, StartupTimeout: options.StartupTimeout,
	})
	a.drainer = drain.New(drain.Ports{
		Cluster: c, Pods: c, Nodes: a.nodes, Machines: cloud, Inventory: a.inventory,
		Events: a.events, Metrics: a.metrics, Log: log, Wake: a.redrain, Drained: a.inventory.Drained,
	})
	a.buyer = purchase.New(purchase.Ports{
		Machines: cloud, Nodes: a.nodes, Cluster: purchasing{a}, Events: a.events, Metrics: a.metrics, Log: log,
		FirstSeen: func(uid string) time.Time { return a.history.firstSeen[uid] },
		Unsettled: a.inventory.Unsettled, Bought: a.inventory.Bought, Replan: a.replan.set,
	})
	firstSeen := func(uid string) time.Time { return a.history.firstSeen[uid] }
	a.binder = bind.New(bind.Ports{
		Pods: c, Assumed: a.assumed, Metrics: a.metrics, Log: log, FirstSeen: firstSeen,
		Stale: a.replan.set, Failed: func() { a.retry.Store(true) },
	})
	a.landings = consolidation.NewLandings(&a.metrics.Consolidation)
	a.surger = surge.New(surge.Ports{Cluster: c, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log, Retry: func() { a.retry.Store(true) }})
	a.disrupter = &disrupt.Disrupter{
		Cluster: c, Pods: c, Nodes: a.nodes, Buying: a.buyer.Holds, Surges: a.surger, Events: a.events, Metrics: a.metrics, Log: log, Replan: a.replan.set,
		Retry: func() { a.retry.Store(true) },
	}
	a.notices = &notice.Watcher{
		Notices: options.Notices, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log,
		Snapshot: func() *cluster.Snapshot { return a.assumed.Apply(c.Snapshot()) },
		Complete: a.inventory.Complete, Avoid: a.avoided.addOffering, Replan: a.replan.set,
	}
	a.reporter = &report.Reporter{Events: a.events, Log: log}
	a.takeover = takeover.New(takeover.Ports{Source: options.Karpenter, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log})
	a.gatherer = &gatherer{cluster: c, history: &a.history, log: log, replan: a.replan}
	return a
}

// Metrics are the agent's own.
func (a *Agent) Metrics() *metrics.Metrics { return a.metrics }

// Run works until the context ends, and then stops acting at once. Only one
// agent of a cluster may run at a time: see leader election.
func (a *Agent) Run(ctx context.Context) error {
	a.pulse.turns()
	a.inventory.Lead()
	a.leading.Store(true)
	defer a.leading.Store(false)
	a.metrics.Leading.Set(1)
	defer a.metrics.Leading.Set(0)
	a.log.Info("began to lead")
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return a.watch(ctx) })
	g.Go(func() error { return a.whenSynced(ctx, a.loop) })
	g.Go(func() error {
		return a.whenSynced(ctx, func(ctx context.Context) error { return a.drainer.Run(ctx, a.options.Interval) })
	})
	g.Go(func() error { return a.sweepLoop(ctx) })
	if a.options.Notices != nil {
		g.Go(func() error { return a.whenSynced(ctx, a.notices.Run) })
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the agent: %w", err)
	}
	return nil
}

// watch passes changes of the cluster on to both loops.
func (a *Agent) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.cluster.Changed():
			a.replan.set()
			a.redrain.set()
		}
	}
}

// sweepLoop removes what no machine uses any more, on start and every interval.
func (a *Agent) sweepLoop(ctx context.Context) error {
	for {
		a.sweep(ctx)
		if err := pace.Sleep(ctx, a.options.Interval); err != nil {
			return err
		}
	}
}

func (a *Agent) sweep(ctx context.Context) {
	if err := a.cloud.Sweep(ctx); err != nil && ctx.Err() == nil {
		a.metrics.Failed("Sweep")
		a.log.Warn("could not delete unused cloud resources", "error", err)
	}
}

// signal is a dirty bit that can be waited for.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) set() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// clear takes the bit back: what it stands for is about to be read.
func (s signal) clear() {
	select {
	case <-s:
	default:
	}
}
