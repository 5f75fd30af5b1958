package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/batch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/consolidation"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/launch"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// planRounds bounds how often a turn plans again because a cloud refused.
const planRounds = 8

// turn plans the whole cluster once and carries out the plan. It returns when the next turn is due
// if nothing changes.
func (a *Agent) turn(ctx context.Context) time.Time {
	began := time.Now()
	a.pulse.turns()
	a.retry.Store(false)
	a.thought = 0
	v := a.observe(ctx)
	a.history.arrivals(v.Snapshot, began)
	if a.takeover.Due(v, a.options.Interval) {
		a.takeover.Run(ctx, v)
		v = a.observe(ctx)
	}
	lost := a.inventory.LostNode(v.Snapshot)
	if a.inventory.Returned(ctx, v) || lost || a.inventory.Due(a.options.Interval) {
		a.inventory.Compare(ctx, v)
		v = a.observe(ctx)
	}
	if a.inventory.RestoreMarks(ctx, v) {
		v = a.observe(ctx)
	}
	a.inventory.Own(ctx, v)
	a.inventory.NoteGracePeriods(ctx, v)
	a.markInitialized(ctx, v)
	a.binder.Rebind(ctx, v)
	a.learn(v)
	sum, plan := a.provision(ctx, v)
	a.reporter.Kept(plan)
	v = a.observe(ctx)
	a.reporter.Unplaced(v.Snapshot, plan)
	a.releaser.Look(ctx, v)
	a.history.setReady(v, newObstacle(a.inventory.Obstacle()))
	a.reportStatus(ctx, v)
	a.buyer.Prune(v.Snapshot)
	for _, since := range a.history.prune(v.Snapshot, a.reporter.Keep) {
		a.metrics.Waited(a.metrics.UntilRunning, since)
	}
	export(a.metrics, v, plan)
	a.metrics.OldestPlaced.Set(a.history.oldest(v.Snapshot, plan, v.Now).Seconds())
	a.metrics.Consolidation.Age.Set(a.lookAge(v).Seconds())
	a.publish(v, plan)
	a.metrics.Turns.Inc()
	a.metrics.TurnSeconds.Observe(time.Since(began).Seconds())
	sum.log(a, time.Since(began))
	return a.nextTurn(began, v)
}

// decide makes a plan.
func (a *Agent) decide(v *view.View) decide.Plan {
	began := time.Now()
	defer func() { a.thought += time.Since(began) }()
	defer a.pulse.plans()()
	in := a.input(v)
	plan := a.planSafely(&in)
	if !in.NotConsolidated {
		a.consolidation.Looked(v.Cached, plan.Consolidation, v.Now, time.Since(began))
		a.metrics.Consolidation.Looked(plan.Consolidation)
		a.reporter.InUse(plan.Consolidation)
	}
	if a.history.deferred.note(&plan, v.Expected, v.Now) {
		a.replan.Set()
	}
	return withoutExpected(plan)
}

// planSafely plans with less if planning panics: pods that wait for machines must not wait until a bug in the agent
// is fixed. It leaves out consolidation, or else, for a while, what only makes plans cheaper.
func (a *Agent) planSafely(in *decide.Input) decide.Plan {
	if in.Now.Before(a.plainUntil) {
		in.Settings = in.Settings.WithoutHeuristics()
	}
	plan, fault := a.tryPlan(*in)
	if fault == "" {
		return plan
	}
	if !in.NotConsolidated {
		in.NotConsolidated = true
		if plan, other := a.tryPlan(*in); other == "" {
			a.log.Error("could not plan consolidation, because of a bug in the agent: please report it", "error", fault)
			a.consolidation.Failed(in.Now)
			a.metrics.Consolidation.Looked(nil)
			return plan
		}
	}
	a.log.Error("could not search for the cheapest plan, because of a bug in the agent: please report it; plans cost more until it is fixed", "error", fault)
	a.plainUntil, in.Settings = in.Now.Add(consolidation.FailedRest), in.Settings.WithoutHeuristics()
	return a.plan(*in)
}

// tryPlan returns the fault if planning panics, with the stack.
func (a *Agent) tryPlan(in decide.Input) (plan decide.Plan, fault string) {
	defer func() {
		if value := recover(); value != nil {
			fault = fmt.Sprintf("%v\n%s", value, debug.Stack())
		}
	}()
	return a.plan(in), ""
}

// lookAge is for how long no look at nodes in use has succeeded; 0 if nobody asks for any.
func (a *Agent) lookAge(v *view.View) time.Duration {
	if !slices.ContainsFunc(v.Provisioners, func(p *view.Provisioner) bool { return p.Spec.Spec.MovesPods() }) {
		return 0
	}
	return a.consolidation.Age(v.Now)
}

// withoutExpected removes expected replicas from a plan. The machines that are bought for them stay.
func withoutExpected(plan decide.Plan) decide.Plan {
	plan.Bindings = slices.DeleteFunc(plan.Bindings, func(b decide.Binding) bool { return batch.IsExpected(b.Pod) })
	plan.Unplaced = slices.DeleteFunc(plan.Unplaced, func(u decide.Unplaced) bool { return batch.IsExpected(u.Pod) })
	return plan
}

// summary counts what a turn did.
type summary struct {
	pending, launched, bound, unplaced, removals, rounds int
}

// log writes one line about a turn that did something.
func (s summary) log(a *Agent, took time.Duration) {
	if s.launched+s.bound+s.removals == 0 {
		return
	}
	a.log.Info("finished a turn", "pending", s.pending, "launched", s.launched, "bound", s.bound, "unplaced", s.unplaced,
		"removals", s.removals, "rounds", s.rounds, "seconds", took.Seconds())
}

// provision decides and acts. It repeats that at once if the cloud refuses offerings or the plan is
// stale. It returns the last plan.
func (a *Agent) provision(ctx context.Context, v *view.View) (summary, *decide.Plan) {
	sum := summary{}
	if settled := a.buyer.Settle(ctx, v); settled != nil {
		settled.EachMachine(a.history.placeOn)
		sum.launched, sum.bound = settled.Launched(), settled.Bound
		v = a.observe(ctx)
		if len(a.disrupter.Postponed()) > 0 {
			a.disrupter.Resume(ctx, a.verify(v), settled.Node)
			v = a.observe(ctx)
		}
	}
	sum.pending = len(v.Snapshot.Pending())
	for {
		sum.rounds++
		a.metrics.Plans.Inc()
		plan := a.decide(v)
		bought := a.buy(ctx, v, &plan)
		sum.launched += bought.Launched()
		sum.bound += bought.Bound + a.bind(ctx, v, &plan)
		a.history.place(&plan, bought)
		a.followMoves(v, &plan)
		sum.removals += len(plan.Removals)
		a.disrupt(ctx, v, &plan, bought)
		sum.unplaced = len(plan.Waiting())
		if !bought.Short || ctx.Err() != nil {
			return sum, &plan
		}
		if sum.rounds >= planRounds {
			a.replan.Set()
			return sum, &plan
		}
		v = a.observe(ctx)
	}
}

// buy buys the machines of a plan, provided that all earlier purchases are known, and that no machine has lost
// its Node object between the last comparison and what the plan was made from. Otherwise, nothing of the plan goes
// voluntarily either: if a pod lost its place, no machine could be bought for it.
func (a *Agent) buy(ctx context.Context, v *view.View, plan *decide.Plan) *launch.Outcome {
	if a.inventory.LostNode(v.Snapshot) {
		a.inventory.Unsettled()
		a.replan.Set()
	}
	if !a.inventory.Complete() {
		withhold(plan)
		return &launch.Outcome{}
	}
	return a.buyer.Buy(ctx, v, plan)
}

// withhold removes from a plan what would go voluntarily now.
func withhold(plan *decide.Plan) {
	plan.Removals = slices.DeleteFunc(plan.Removals, func(r decide.Removal) bool { return r.Reason.Voluntary() })
	for i := range plan.Chosen {
		if c := &plan.Chosen[i]; c.Verdict == decide.Go {
			c.Verdict, c.Why = decide.Wait, "not all instances are known"
		}
	}
}

// bind carries out a plan's bindings to nodes that exist.
func (a *Agent) bind(ctx context.Context, v *view.View, plan *decide.Plan) (bound int) {
	byNode := map[string][]cluster.PodKey{}
	for _, b := range slices.Concat(plan.Bindings, plan.Failing) { // of which the binder binds only pods that are pending
		if b.From != "" || a.buyer.Holds(b.Node) {
			continue // it still runs elsewhere, or its machine is being bought: there is nothing to bind yet
		}
		byNode[b.Node] = append(byNode[b.Node], b.Pod)
		n := v.Snapshot.Node(b.Node)
		a.reporter.Fits(b.Pod, b.Node, n != nil && n.HasBeenUp() && n.Ready)
	}
	if len(byNode) == 0 {
		return 0
	}
	return a.binder.BindAll(ctx, v, a.verify(v), byNode)
}

// followMoves counts where the successors of evicted pods were placed, and notes the next evictions.
func (a *Agent) followMoves(v *view.View, plan *decide.Plan) {
	moves := map[string]string{}
	for _, b := range plan.Bindings {
		if to := v.Snapshot.Node(b.Node); b.From != "" && to != nil && to.HasBeenUp() {
			moves[b.Pod.UID] = b.Node
		}
	}
	a.landings.Look(v.Snapshot, moves, v.Now)
}

// disrupt carries out the removals of a plan.
func (a *Agent) disrupt(ctx context.Context, v *view.View, plan *decide.Plan, bought *launch.Outcome) {
	a.disrupter.NoteEmptiness(ctx, v.Expected, plan.Emptiness)
	if a.consolidation.Guides(v.Now) && len(plan.Guides)+len(plan.Steers) > 0 {
		a.disrupter.Guide(ctx, v.Expected, plan.Guides)
		a.disrupter.Steer(plan.Steers)
		a.consolidation.Guided(v.Now)
	}
	if len(plan.Removals) > 0 {
		a.disrupter.Remove(ctx, a.verify(v), plan.Removals, bought.Node)
	}
	// A node whose surge fails stays. If that were not known before the next plan, a machine would be bought
	// for its pods.
	cached := a.cluster.Snapshot()
	a.surger.Tend(ctx, cached, a.assumed.Apply(cached), a.cluster.Provisioners())
	if len(plan.Chosen) > 0 {
		a.disrupter.Release(ctx, a.verify(v), plan.Chosen)
	}
}
