package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
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
	out := &launched{names: map[string]string{}}
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
	var g errgroup.Group
	g.SetLimit(launchesAtOnce)
	for _, o := range all {
		g.Go(func() error {
			o.err = a.fill(ctx, v, o, out)
			return nil
		})
	}
	_ = g.Wait() // each order holds its own error
	a.reportLaunches(ctx, fresh, all, out)
	return out
}

// fill has one order served: it buys the machines, creates their Node objects and
// binds the pods.
func (a *Agent) fill(ctx context.Context, v *view, o *order, out *launched) error {
	if err := a.holdProvisioner(ctx, o.by); err != nil {
		return err
	}
	a.metrics.waited(a.metrics.untilLaunch, a.history.earliest(o))
	delivery, err := a.buy(ctx, o)
	if err != nil {
		a.ledger.unsettled()
		return err
	}
	a.attempts.count(o)
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
	return g.Wait()
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
	if !a.createNode(ctx, node) {
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
			if err := sleep(ctx, time.Second<<attempt); err != nil {
				return offer.Delivery{}, err
			}
		}
		delivery, err := a.launchOnce(ctx, o.Order)
		if err == nil {
			return delivery, nil
		}
		errs = err
		if ctx.Err() != nil {
			break
		}
	}
	return offer.Delivery{}, fmt.Errorf("launch %d of %s for %s: %w", o.Count, o.Candidates[0].InstanceType, o.Provisioner, errs)
}

func (a *Agent) launchOnce(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	ctx, cancel := context.WithTimeout(ctx, cloudTimeout)
	defer cancel()
	return a.cloud.Launch(ctx, o)
}

// createNode creates a Node object and assumes it, with or without success: its
// machine exists and counts. It reports the success.
func (a *Agent) createNode(ctx context.Context, node *corev1.Node) bool {
	expected := cluster.FromNode(node, nil)
	expected.Created = time.Now()
	call, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	err := a.cluster.CreateNode(call, node)
	a.assumed.node(expected, err == nil)
	if err == nil {
		return true
	}
	a.ledger.unsettled()
	if !errors.Is(err, context.Canceled) {
		a.log.Error("created no Node object for an instance yet", "node", node.Name, "provider_id", node.Spec.ProviderID, "error", err)
	}
	return false
}
