package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// launched is what came of a plan's machines.
type launched struct {
	mu    sync.Mutex
	nodes []delivered
	names map[string]string // of the nodes, by the machines of the plan
	bound int
	open  []*purchase // that the cloud has not answered yet
	// short: a cloud refused, or something was stale, so that another plan may do better.
	short bool
}

// delivered is a machine of an order and the instance that serves it.
type delivered struct {
	order    *order
	machine  *decide.Machine
	instance offer.Instance
	price    offer.Price
	why      string // it was bought
}

func newLaunched() *launched { return &launched{names: map[string]string{}} }

// any reports whether something has come of orders.
func (l *launched) any() bool { return len(l.nodes) > 0 || l.short }

func (l *launched) leave(p *purchase) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, p)
}

func (l *launched) deliver(d delivered, bound int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes = append(l.nodes, d)
	l.names[d.machine.Name] = d.instance.NodeName
	l.bound += bound
}

func (l *launched) fellShort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.short = true
}

// node returns the name of the node that a machine of the plan became.
func (l *launched) node(machine string) (string, bool) {
	name, ok := l.names[machine]
	return name, ok
}

// launch buys the machines of a plan, creates their Node objects and binds their
// pods. Machines whose pods or Provisioner have changed since are dropped.
func (a *Agent) launch(ctx context.Context, v *view, plan *decide.Plan) *launched {
	out := newLaunched()
	if len(plan.Machines) == 0 || !a.ledger.complete() {
		return out
	}
	fresh := a.verify(v)
	var machines []*decide.Machine
	for i := range plan.Machines {
		if m := &plan.Machines[i]; fresh.machine(m) {
			machines = append(machines, m)
		}
	}
	all := withinLimits(fresh, orders(v, machines))
	for _, o := range all {
		o.LaunchID = a.attempts.launchID(o, fresh.pods, v.now)
	}
	if len(machines) < len(plan.Machines) {
		out.short = true
	}
	for _, o := range all {
		o.since = a.history.earliest(o)
	}
	patience, cancel := context.WithTimeout(ctx, purchasePatience)
	defer cancel()
	var g errgroup.Group
	for _, o := range all {
		g.Go(func() error {
			p := newPurchase(o)
			if a.awaitAnswer(ctx, p, patience.Done()) {
				a.fill(ctx, v, p, out)
			} else {
				out.leave(p)
			}
			return nil
		})
	}
	_ = g.Wait() // each order holds its own error
	if a.purchases.leave(out.open) {
		a.replan.set()
	}
	answered := slices.DeleteFunc(all, func(o *order) bool {
		return slices.ContainsFunc(out.open, func(p *purchase) bool { return p.order == o })
	})
	a.reportLaunches(ctx, fresh, answered, out)
	return out
}

// settleAnswered settles the purchases of earlier turns that the cloud has answered since.
func (a *Agent) settleAnswered(ctx context.Context, v *view) *launched {
	out := newLaunched()
	var orders []*order
	for _, p := range a.purchases.answered() {
		a.fill(ctx, v, p, out)
		orders = append(orders, p.order)
	}
	if len(orders) == 0 {
		return out
	}
	a.reportLaunches(ctx, a.verify(v), orders, out)
	for _, d := range out.nodes {
		a.history.placeOn(d.machine, d.instance.NodeName)
	}
	return out
}

// order has the machines of one order bought.
func (a *Agent) order(ctx context.Context, o *order) (offer.Delivery, error) {
	release, err := a.purchases.slot(ctx, o.Provisioner)
	if err != nil {
		return offer.Delivery{}, err
	}
	defer release()
	if err := a.holdProvisioner(ctx, o.by); err != nil {
		return offer.Delivery{}, err
	}
	a.metrics.Waited(a.metrics.UntilLaunch, o.since)
	delivery, err := a.buy(ctx, o)
	if err != nil {
		a.ledger.unsettled()
		return offer.Delivery{}, err
	}
	a.attempts.count(o)
	return delivery, nil
}

// fill creates the Node objects of the machines that were bought and binds their pods.
func (a *Agent) fill(ctx context.Context, v *view, p *purchase, out *launched) {
	o, delivery := p.order, p.delivery
	if o.err = p.err; o.err != nil {
		return
	}
	o.refusals = delivery.Refusals
	o.missing = o.Count - len(delivery.Instances)
	if o.missing > 0 {
		out.fellShort()
	}
	fresh := a.verify(v) // buying takes seconds
	var g errgroup.Group
	g.SetLimit(nodesAtOnce)
	for i, instance := range delivery.Instances[:min(len(delivery.Instances), len(o.machines))] {
		g.Go(func() error {
			d := delivered{order: o, machine: o.machines[i], instance: instance}
			d.why = explain.Purpose(d.machine, v.expected, instance.InstanceType)
			a.settle(ctx, fresh, d, out)
			return nil
		})
	}
	_ = g.Wait() // settle deals with errors itself
}

// settle creates the Node object of an instance and binds its pods.
func (a *Agent) settle(ctx context.Context, fresh *verifier, d delivered, out *launched) {
	if d.instance.NodeName == "" {
		a.ledger.unsettled() // the cloud does not know its name yet
		out.fellShort()
		return
	}
	node := nodeFor(d.order.by, d.machine, d.instance)
	node.Annotations[api.AnnotationLaunchReason] = d.why
	if !a.nodes.Create(ctx, node) {
		a.ledger.unsettled()
		out.fellShort()
		return
	}
	d.price = priceOf(node.Annotations)
	bound := 0
	if d.order.by.spec.Spec.PodBinding == api.BindImmediate {
		bound = a.bindAll(ctx, fresh, node.Name, d.machine.Pods)
	}
	out.deliver(d, bound)
}

// buy places the order. An error leaves open whether machines were bought, so the
// order is repeated under the same launch id, which buys nothing twice.
func (a *Agent) buy(ctx context.Context, o *order) (offer.Delivery, error) {
	var errs error
	for attempt := range launchAttempts {
		if attempt > 0 {
			if err := pace.Sleep(ctx, time.Second<<attempt); err != nil {
				return offer.Delivery{}, err
			}
		}
		delivery, err := a.launchOnce(ctx, o.Order)
		if err == nil {
			return delivery, nil
		}
		errs = err
		if ctx.Err() != nil || offer.IsPermanent(err) {
			break
		}
	}
	return offer.Delivery{}, fmt.Errorf("launch %d of %s for %s: %w", o.Count, o.Candidates[0].InstanceType, o.Provisioner, errs)
}

func (a *Agent) launchOnce(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	return a.cloud.Launch(ctx, o)
}
