// Package launch buys the machines of plans, and makes their Node objects.
package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/metrics"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/nodes"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/pace"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/parallel"
	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

const (
	launchesAtOnce = 8 // orders of one Provisioner
	// askedAtOnce is how many orders of all Provisioners the cloud is asked for at the same time. AWS throttles the
	// account, and all retries draw on one budget of its client, so that orders would fail that only have to wait.
	askedAtOnce = 32

	// launchAttempts bounds how often an order is repeated under its launch id
	// after an error that leaves open whether machines were bought.
	launchAttempts = 3
	// patience is how long a turn waits for the cloud to answer orders, so that it can
	// plan at once for what was refused. Slower ones are settled by a later turn.
	patience = 2 * time.Second
)

// Machines sells machines.
type Machines interface {
	// Launch is idempotent in the order's launch id. Offerings that were refused
	// are unavailable in later Markets. The delivery that comes with an error has the
	// machines that are known to have been bought.
	Launch(ctx context.Context, order offer.Order) (offer.Delivery, error)
}

// Ports are what a Buyer works with. All are to be set.
type Ports struct {
	Machines Machines
	Nodes    *nodes.Writer
	Events   *event.Recorder
	Metrics  *metrics.Metrics
	Log      hclog.Logger
	// Verify compares a view with the cluster as it is now.
	Verify func(v *view.View) *view.Verifier
	// Hold keeps a Provisioner from being deleted before its nodes are gone.
	Hold func(ctx context.Context, p *view.Provisioner) error
	// Bind binds pods to a node of a Provisioner that is starting, and returns how many are bound.
	Bind func(ctx context.Context, fresh *view.Verifier, n *cluster.Node, of *view.Provisioner, pods []cluster.PodKey) int
	// Nominated says where a pod will run.
	Nominated func(pod cluster.PodKey, message string)
	// FirstSeen returns when a pod was first seen waiting.
	FirstSeen func(uid string) time.Time
	// Unsettled is called when something may have been bought that has no Node object,
	// and Replan when there is something to plan.
	Unsettled, Replan func()
	// Bought is called with each instance before its Node object is made, also if its name is not known yet.
	Bought func(i offer.Instance)
	// Ended is called with what a machine would have become that ended right after its launch, before it had a
	// Node object: others like it are not to be bought again and again.
	Ended func(n *cluster.Node)
}

// Buyer buys machines. Only the planning loop calls it, but for Buying, Holds, Launching and
// Apply.
type Buyer struct {
	Ports
	open     purchases   // that the cloud has not answered yet
	busy     atomic.Bool // the planning loop buys, or makes the nodes of what was bought
	asking   chan struct{}
	attempts *attempts
	pauses   *pace.Retries     // by Provisioner
	broke    map[string]string // by Provisioner: what the last launch that broke said
	quotas   map[quota]spent   // quotas of the account that are used up
}

// New returns a Buyer.
func New(p Ports) *Buyer {
	return &Buyer{Ports: p, asking: make(chan struct{}, askedAtOnce), attempts: newAttempts(), pauses: pace.NewRetries(firstPause, longestPause), broke: map[string]string{}, quotas: map[quota]spent{}}
}

// Outcome says what became of a plan's machines.
type Outcome struct {
	// Bound is how many pods were bound.
	Bound int
	// Short: a cloud refused, or something was stale, so that another plan may do better.
	Short bool

	mu    sync.Mutex
	nodes []Delivered
	names map[string]string // of the nodes, by the machines of the plan and by their expected names
	open  []*purchase       // that the cloud has not answered yet
}

// Delivered is a machine of an order and the instance that serves it.
type Delivered struct {
	order    *order
	machine  *decide.Machine
	expected string // name of the node while it was being bought
	instance offer.Instance
	price    offer.Price
	why      string // it was bought
}

func newOutcome() *Outcome { return &Outcome{names: map[string]string{}} }

// Launched returns how many machines became nodes.
func (o *Outcome) Launched() int { return len(o.nodes) }

// Node returns the name of the node that a machine of the plan has become. A machine that an earlier turn began to buy
// is identified by the name that was expected for its node. While a machine is being bought, the expected name is
// returned.
func (o *Outcome) Node(machine string) (string, bool) {
	if name, ok := o.names[machine]; ok {
		return name, true
	}
	for _, p := range o.open {
		for i, m := range p.order.machines {
			if m.Name == machine {
				return p.nodes[i].Name, true
			}
		}
	}
	return "", false
}

// EachMachine calls use with each machine that was bought, or is being bought, and the
// name of its node.
func (o *Outcome) EachMachine(use func(m *decide.Machine, node string)) {
	for _, d := range o.nodes {
		use(d.machine, d.instance.NodeName)
	}
	for _, p := range o.open {
		for i, m := range p.order.machines {
			use(m, p.nodes[i].Name)
		}
	}
}

func (o *Outcome) leave(p *purchase) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open = append(o.open, p)
}

func (o *Outcome) deliver(d Delivered, bound int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.nodes = append(o.nodes, d)
	o.names[d.machine.Name], o.names[d.expected] = d.instance.NodeName, d.instance.NodeName
	o.Bound += bound
}

func (o *Outcome) fellShort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Short = true
}

// Buy buys the machines of a plan, creates their Node objects and binds their
// pods. Machines whose pods or Provisioner have changed since are dropped.
func (b *Buyer) Buy(ctx context.Context, v *view.View, plan *decide.Plan) *Outcome {
	out := newOutcome()
	if len(plan.Machines) == 0 {
		return out
	}
	b.busy.Store(true)
	defer b.busy.Store(false)
	fresh := b.Verify(v)
	var machines []*decide.Machine
	for i := range plan.Machines {
		if m := &plan.Machines[i]; fresh.Machine(m) {
			machines = append(machines, m)
		}
	}
	out.Short = len(machines) < len(plan.Machines)
	all := withinLimits(fresh, orders(v, machines))
	for _, o := range all {
		o.LaunchID = b.attempts.launchID(o, fresh.Pods, v.Now)
		o.since = b.earliest(o)
		o.paused = b.pauses.Next(o.Provisioner)
	}
	waits, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	parallel.Each(-1, all, func(o *order) {
		p := newPurchase(o)
		if b.await(ctx, p, waits.Done()) {
			b.fill(ctx, v, p, out)
		} else {
			out.leave(p)
		}
	})
	if b.open.leave(out.open) {
		b.Replan()
	}
	answered := slices.DeleteFunc(all, func(o *order) bool {
		return slices.ContainsFunc(out.open, func(p *purchase) bool { return p.order == o })
	})
	b.report(ctx, fresh, answered, out)
	return out
}

// Settle settles the purchases of earlier turns that the cloud has answered since. It
// returns nil where there are none.
func (b *Buyer) Settle(ctx context.Context, v *view.View) *Outcome {
	b.busy.Store(true)
	defer b.busy.Store(false)
	answered := b.open.takeAnswered()
	if len(answered) == 0 {
		return nil
	}
	out := newOutcome()
	var orders []*order
	for _, p := range answered {
		b.fill(ctx, v, p, out)
		orders = append(orders, p.order)
	}
	b.report(ctx, b.Verify(v), orders, out)
	return out
}

// Prune forgets how often orders for pods that are gone were answered.
func (b *Buyer) Prune(s *cluster.Snapshot) { b.attempts.prune(s) }

// Buying reports whether there may be machines of orders that have no Node object yet.
func (b *Buyer) Buying() bool { return b.busy.Load() || b.open.unsettled() }

// Holds reports whether the node is a machine that is still being bought.
func (b *Buyer) Holds(node string) bool {
	return b.open.contain(func(p *purchase) bool {
		return slices.ContainsFunc(p.nodes, func(n cluster.Node) bool { return n.Name == node })
	})
}

// Launching reports whether an instance belongs to an order that is still open.
func (b *Buyer) Launching(launchID string) bool {
	return b.open.contain(func(p *purchase) bool { return p.order.LaunchID == launchID })
}

// Apply returns the snapshot with the machines that are being bought. The argument is not
// changed.
func (b *Buyer) Apply(s *cluster.Snapshot) *cluster.Snapshot { return b.open.apply(s) }

// earliest returns when the first of the order's pods was seen waiting.
func (b *Buyer) earliest(o *order) time.Time {
	var first time.Time
	for _, m := range o.machines {
		for _, p := range m.Pods {
			if t := b.FirstSeen(p.UID); !t.IsZero() && (first.IsZero() || t.Before(first)) {
				first = t
			}
		}
	}
	return first
}

// await places the order, and returns whether the cloud answers before the turn goes on.
// The purchase goes on if not, and another turn settles it.
func (b *Buyer) await(ctx context.Context, p *purchase, turnEnds <-chan struct{}) bool {
	go func() {
		p.delivery, p.err = b.order(ctx, p.order)
		if p.order.doubtful && p.err != nil {
			b.doubt(p)
		}
		close(p.bought)
		if b.open.contain(func(other *purchase) bool { return other == p }) {
			b.Replan()
		}
	}()
	select {
	case <-p.bought:
		return true
	case <-turnEnds:
		return p.answered()
	}
}

// order has the machines of one order bought.
func (b *Buyer) order(ctx context.Context, o *order) (offer.Delivery, error) {
	release, err := b.open.slot(ctx, o.Provisioner)
	if err != nil {
		return offer.Delivery{}, err
	}
	defer release()
	if err := b.Hold(ctx, o.by); err != nil {
		return offer.Delivery{}, err
	}
	b.Metrics.Waited(b.Metrics.UntilLaunch, o.since)
	delivery, err := b.launch(ctx, o)
	if err == nil || offer.IsPermanent(err) || len(delivery.Instances) > 0 {
		b.attempts.count(o)
	}
	return delivery, err
}

// errUnlisted is the answer to a repeated order that names fewer machines than were ordered: the answer that got lost may
// have been that all were bought.
var errUnlisted = errors.New("an earlier request may have bought the others, and EC2 does not list them yet")

// launch places the order. An error leaves open whether machines were bought, so the
// order is repeated under the same launch id, which buys nothing twice. If some of the machines
// are known, their nodes do not wait for that.
func (b *Buyer) launch(ctx context.Context, o *order) (offer.Delivery, error) {
	var refusals []offer.Refusal // of earlier answers: the cloud may say only once why it does not sell
	for attempt := 1; ; attempt++ {
		delivery, err := b.ask(ctx, o.Order)
		if len(delivery.Refusals) == 0 {
			delivery.Refusals = refusals
		}
		refusals = delivery.Refusals
		if err == nil && o.doubtful && len(delivery.Instances) < o.Count {
			err = errUnlisted
		}
		if err == nil {
			return delivery, nil
		}
		permanent := offer.IsPermanent(err)
		o.doubtful = o.doubtful || !permanent && !offer.IsUnsent(err)
		over := permanent || len(delivery.Instances) > 0 || attempt == launchAttempts
		if over || pace.Sleep(ctx, time.Second<<attempt) != nil {
			return delivery, fmt.Errorf("launch %d of %s for %s: %w", o.Count, o.Candidates[0].InstanceType, o.Provisioner, err)
		}
	}
}

// ask asks the cloud for the machines of the order, once few enough others are asked for.
func (b *Buyer) ask(ctx context.Context, o offer.Order) (offer.Delivery, error) {
	select {
	case b.asking <- struct{}{}:
		defer func() { <-b.asking }()
	case <-ctx.Done():
		return offer.Delivery{}, ctx.Err()
	}
	ctx, done := context.WithTimeout(ctx, pace.Answer)
	defer done()
	return b.Machines.Launch(ctx, o)
}

// doubt counts the machines that a failed order may have bought until the cloud would list
// them. Then they are looked for once more before anything else is bought.
func (b *Buyer) doubt(p *purchase) {
	b.open.doubted(p)
	time.AfterFunc(offer.ListingLag, func() {
		b.Unsettled()
		b.open.decided(p)
		b.Replan()
	})
}

// fill creates the Node objects of the machines that were bought and binds their pods.
func (b *Buyer) fill(ctx context.Context, v *view.View, p *purchase, out *Outcome) {
	o, delivery := p.order, p.delivery
	o.err, o.refusals = p.err, delivery.Refusals
	p.ended(b.Ended)
	o.missing = o.Count - len(delivery.Instances)
	if o.err != nil { // from now on, a comparison may find machines of it
		b.Unsettled()
	}
	if o.missing > 0 {
		out.fellShort()
	}
	var all []Delivered
	for i, instance := range delivery.Instances[:min(len(delivery.Instances), len(o.machines))] {
		why := explain.Purpose(o.machines[i], v.Expected, instance.InstanceType)
		all = append(all, Delivered{order: o, machine: o.machines[i], expected: p.nodes[i].Name, instance: instance, why: why})
	}
	fresh := b.Verify(v) // buying takes seconds
	parallel.Each(parallel.NodesAtOnce, all, func(d Delivered) { b.makeNode(ctx, fresh, d, out) })
}

// makeNode creates the Node object of an instance and binds its pods.
func (b *Buyer) makeNode(ctx context.Context, fresh *view.Verifier, d Delivered, out *Outcome) {
	d.instance.Provisioner, d.instance.LaunchID = d.order.Provisioner, d.order.LaunchID
	b.Bought(d.instance)
	if d.instance.NodeName == "" { // the cloud does not know its name yet
		b.Unsettled()
		out.fellShort()
		return
	}
	if n := fresh.Snapshot.Node(d.instance.NodeName); n != nil && n.ProviderID == d.instance.ProviderID && n.Annotations[api.AnnotationLaunchID] == d.order.LaunchID {
		// An order of an earlier agent with the same id has been served with it. The plan has
		// given its room away already.
		out.fellShort()
		return
	}
	node := view.NodeFor(d.order.by, d.machine, d.instance)
	node.Annotations[api.AnnotationLaunchReason] = d.why
	ready, err := b.Nodes.Create(ctx, node, d.order.by.TaintsToAdd())
	if err != nil {
		b.Unsettled()
		out.fellShort()
		return
	}
	d.price = offer.PriceOf(node.Annotations)
	bound := 0
	// kube-scheduler places pods on a node that is ready, so that its room may be taken.
	if !ready {
		made := cluster.FromNode(node, nil)
		bound = b.Bind(ctx, fresh, &made, d.order.by, d.machine.Pods)
	}
	out.deliver(d, bound)
}
