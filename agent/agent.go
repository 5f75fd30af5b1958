package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/avoid"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/bind"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/consolidation"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/disrupt"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/drain"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/inventory"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/launch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/notice"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/planreport"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/release"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/surge"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/takeover"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

// Options configure an agent. The zero value of each means its default.
type Options struct {
	// BatchIdle is how long no new pod may arrive before the agent plans a batch: 100 ms.
	BatchIdle time.Duration
	// BatchMax is the longest time that a batch waits while new pods keep arriving: 10 s.
	BatchMax time.Duration
	// Settings are those of decisions. Times that are zero are those of decide.DefaultSettings. A negative
	// UnhealthyAfter means that unready nodes are kept, and a negative MinLifetime that there is none.
	decide.Settings
	// Notices are the notices of the cloud about machines, such as interruptions. Nil: none.
	Notices notice.Notices
	// Karpenter has the machines and NodeClaims of Karpenter, which the agent takes over with the
	// NodePools that it serves. The zero value has none.
	Karpenter takeover.Source
	// Interval is the longest time between two turns, and between two comparisons
	// of the nodes with the cloud's instances: 1 min.
	Interval time.Duration
	// Metrics is where the agent counts what it does: metrics.New().
	Metrics *metrics.Metrics
	// Decide makes the plans: decide.Decide. Tests wrap it to see decisions or to change them.
	Decide func(decide.Input) decide.Plan
}

func (o Options) withDefaults() Options {
	usual := decide.DefaultSettings()
	o.BatchIdle = cmp.Or(o.BatchIdle, install.DefaultBatchIdle)
	o.BatchMax = cmp.Or(o.BatchMax, install.DefaultBatchMax)
	o.StartupTimeout = cmp.Or(o.StartupTimeout, usual.StartupTimeout)
	o.UnhealthyAfter = cmp.Or(o.UnhealthyAfter, usual.UnhealthyAfter)
	o.MinLifetime = cmp.Or(o.MinLifetime, usual.MinLifetime)
	o.Interval = cmp.Or(o.Interval, time.Minute)
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
	quotes    *pace.Retries // by Provisioner and condition: when another error may be quoted; by node profile: free addresses
	buyer     *launch.Buyer
	inventory *inventory.Inventory
	binder    *bind.Binder
	disrupter *disrupt.Disrupter
	surger    *surge.Surger
	releaser  *release.Releaser
	notices   *notice.Watcher
	reporter  *planreport.Reporter
	takeover  *takeover.Takeover
	gatherer  *gatherer

	plan       func(decide.Input) decide.Plan
	plainUntil time.Time // plans leave heuristics out until then, after a fault

	replan  pace.Signal // something that planning depends on has changed
	redrain pace.Signal // something that draining depends on has changed

	leading atomic.Bool
	began   time.Time   // when this agent began to lead
	retry   atomic.Bool // an action has failed, which the next turn repeats
	pulse   pulse

	// thought is how long the last turn took, apart from its calls. Only the planning loop uses
	// it.
	thought time.Duration

	assumed *nodes.Assumptions
	avoided *avoid.Offerings
	history history
	// consolidation remembers what was last reported about nodes in use.
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
		replan:        pace.NewSignal(),
		redrain:       pace.NewSignal(),
		assumed:       nodes.NewAssumptions(),
		events:        event.NewRecorder(c),
		avoided:       avoid.New(),
		history:       newHistory(),
		consolidation: consolidation.New(),
	}
	firstSeen := func(uid string) time.Time { return a.history.firstSeen[uid] }
	retry := func() { a.retry.Store(true) }
	a.nodes = &nodes.Writer{
		API: c, Assumed: a.assumed, Log: log, Deleted: a.redrain.Set, Failed: retry, Refused: pace.NewRetries(retryPause, time.Minute),
	}
	a.quotes = pace.NewRetries(quotePause, quotePause)
	a.reader = &view.Reader{Texts: c, Market: cloud, Metrics: a.metrics, Log: log, Failures: pace.NewRetries(15*time.Second, 5*time.Minute)}
	a.inventory = inventory.New(inventory.Ports{
		Listing: cloud, Reader: c, Machines: cloud, Nodes: a.nodes, Assumed: a.assumed, Events: a.events, Metrics: a.metrics, Log: log,
		Launching: func(id string) bool { return a.buyer.Launching(id) },
		Replan:    a.replan.Set, Redrain: a.redrain.Set, Ended: a.avoided.AddEnded, StartupTimeout: options.StartupTimeout,
	})
	a.drainer = drain.New(drain.Ports{
		Cluster: c, Pods: c, Nodes: a.nodes, Machines: cloud, Inventory: a.inventory,
		Events: a.events, Metrics: a.metrics, Log: log, Wake: a.redrain, Drained: a.inventory.Drained,
	})
	a.binder = bind.New(bind.Ports{
		Pods: c, Assumed: a.assumed, Metrics: a.metrics, Log: log, FirstSeen: firstSeen,
		Stale: a.replan.Set, Failed: retry,
	})
	a.reporter = &planreport.Reporter{Events: a.events, Log: log}
	a.releaser = release.New(release.Ports{
		Finalizers: c, Leftovers: cloud, Occupied: a.inventory.Occupied, Unsettled: a.inventory.Unsettled, Replan: a.replan.Set, Log: log,
		Failed: a.metrics.Failed,
	})
	a.buyer = launch.New(launch.Ports{
		Machines: cloud, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log,
		Verify: a.verify, Hold: a.releaser.Hold, Bind: a.binder.Bind, Nominated: a.reporter.Nominated,
		FirstSeen: firstSeen, Unsettled: a.inventory.Unsettled, Bought: a.inventory.Bought, Ended: a.avoided.AddEndedAtOnce, Replan: a.replan.Set,
	})
	a.landings = consolidation.NewLandings(&a.metrics.Consolidation)
	a.surger = surge.New(surge.Ports{Cluster: c, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log, Retry: retry})
	a.disrupter = &disrupt.Disrupter{
		Cluster: c, Pods: c, Nodes: a.nodes, Buying: a.buyer.Holds, Surges: a.surger, Events: a.events, Metrics: a.metrics, Log: log, Replan: a.replan.Set, Retry: retry,
		Unfinished: pace.Refusals(), Steers: make(chan []decide.Steer, 1),
	}
	a.notices = &notice.Watcher{
		Notices: options.Notices, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log,
		Snapshot: func() *cluster.Snapshot { return a.drainer.Kept(a.assumed.Apply(c.Snapshot())) },
		Complete: func() bool { return !a.buyer.Buying() && a.inventory.Complete() }, Runs: a.inventory.Runs, Avoid: a.avoided.AddInterrupted, Ended: a.avoided.AddEnded, Replan: a.replan.Set,
	}
	a.takeover = takeover.New(takeover.Ports{Source: options.Karpenter, Nodes: a.nodes, Events: a.events, Metrics: a.metrics, Log: log})
	a.gatherer = &gatherer{cluster: c, history: &a.history, log: log, replan: a.replan}
	return a
}

// Run runs the agent until the context ends, and then stops acting at once. Only one agent may run
// in a cluster at a time, which leader election ensures.
func (a *Agent) Run(ctx context.Context) error {
	a.pulse.turns()
	a.inventory.Lead()
	a.began = time.Now()
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
	g.Go(func() error { return a.disrupter.RunSteering(ctx) })
	g.Go(func() error { return a.releaser.Run(ctx) })
	if a.options.Notices != nil {
		g.Go(func() error { return a.whenSynced(ctx, a.notices.Run) })
	}
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the agent: %w", err)
	}
	return nil
}

// watch wakes both loops when the cluster changes.
func (a *Agent) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.cluster.Changed():
			a.replan.Set()
			a.redrain.Set()
		}
	}
}

// sweepLoop removes cloud resources that no machine uses, at the start and after each interval.
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
