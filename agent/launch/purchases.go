package launch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// purchases are the orders that the cloud has not answered when a turn goes on: one slow
// purchase does not hold up the pods of others. Until they are settled, each of their
// machines counts as a node in what is planned and in limits, and the pods that it is
// bought for count as placed there. Losing them at a restart costs nothing: the machines
// are adopted by their tags.
//
// An order that failed may have been served after all. Its machines count for as long as the
// cloud may not list them yet, and take no pods.
type purchases struct {
	mu    sync.Mutex
	open  []*purchase
	doubt []*purchase              // failed, and may have bought machines nevertheless
	slots map[string]chan struct{} // by Provisioner: has room for launchesAtOnce
}

// purchase is an order that is being bought.
type purchase struct {
	order    *order
	nodes    []cluster.Node // that its machines will be
	delivery offer.Delivery
	err      error
	bought   chan struct{} // closed when the cloud has answered
}

func newPurchase(o *order) *purchase {
	p := &purchase{order: o, bought: make(chan struct{})}
	for i, m := range o.machines {
		expected := o.node(fmt.Sprintf("%s-%s-%d", o.Provisioner, o.LaunchID, i), m, o.Candidates[0])
		expected.Finalizers = nil // there is no object that could be held
		expected.Created = time.Now()
		for _, c := range o.Candidates { // any of them may come: limits count the largest
			if t := o.by.InstanceType(c.InstanceType); t != nil {
				expected.Capacity = expected.Capacity.Max(t.Capacity)
			}
		}
		p.nodes = append(p.nodes, expected)
	}
	return p
}

// node is what a machine becomes that is bought as the candidate.
func (o *order) node(name string, m *decide.Machine, c offer.Candidate) cluster.Node {
	i := offer.Instance{NodeName: name, InstanceType: c.InstanceType, Zone: c.Zone, CapacityType: c.CapacityType, Reservation: c.Reservation}
	return cluster.FromNode(view.NodeFor(o.by, m, i), nil)
}

// ended calls use with what the machines would have become that ended right after their launch.
func (p *purchase) ended(use func(n *cluster.Node)) {
	for _, r := range p.delivery.Refusals {
		if r.Reason == offer.RefusedEnded {
			n := p.order.node("", p.order.machines[0], r.Candidate)
			n.Created = p.nodes[0].Created
			use(&n)
		}
	}
}

// answered reports whether the cloud has answered.
func (p *purchase) answered() bool {
	select {
	case <-p.bought:
		return true
	default:
		return false
	}
}

// leave notes purchases that go on after the turn, and reports whether any of them has
// been answered by now.
func (ps *purchases) leave(these []*purchase) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.open = append(ps.open, these...)
	return slices.ContainsFunc(these, (*purchase).answered)
}

// doubted counts what a purchase that failed may have bought, until the cloud would list it.
// It takes no pods.
func (ps *purchases) doubted(p *purchase) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for i := range p.nodes {
		p.nodes[i].Doubtful, p.nodes[i].Deleting = true, true
	}
	ps.doubt = append(ps.doubt, p)
}

// decided ends the doubt about a purchase.
func (ps *purchases) decided(p *purchase) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.doubt = slices.DeleteFunc(ps.doubt, func(other *purchase) bool { return other == p })
}

// contain reports whether is holds for a purchase that goes on after its turn.
func (ps *purchases) contain(is func(*purchase) bool) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return slices.ContainsFunc(ps.open, is)
}

// slot waits until a Provisioner has few enough orders under way.
func (ps *purchases) slot(ctx context.Context, provisioner string) (release func(), err error) {
	ps.mu.Lock()
	if ps.slots == nil {
		ps.slots = map[string]chan struct{}{}
	}
	slots := ps.slots[provisioner]
	if slots == nil {
		slots = make(chan struct{}, launchesAtOnce)
		ps.slots[provisioner] = slots
	}
	ps.mu.Unlock()
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// takeAnswered returns the purchases that can be settled now, and forgets them.
func (ps *purchases) takeAnswered() (done []*purchase) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.open = slices.DeleteFunc(ps.open, func(p *purchase) bool {
		if p.answered() {
			done = append(done, p)
		}
		return p.answered()
	})
	return done
}

// unsettled reports whether any purchase is open, or has failed and may have bought machines nevertheless.
func (ps *purchases) unsettled() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.open)+len(ps.doubt) > 0
}

// apply returns the snapshot with the machines that are being bought, and those that may
// have been. The argument is not changed.
func (ps *purchases) apply(s *cluster.Snapshot) *cluster.Snapshot {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if len(ps.open)+len(ps.doubt) == 0 {
		return s
	}
	out := *s
	out.Nodes = slices.Clone(s.Nodes)
	there := map[string]int{} // nodes, by launch id
	for i := range s.Nodes {
		there[s.Nodes[i].Annotations[api.AnnotationLaunchID]]++
	}
	for _, p := range ps.open {
		out.Nodes = append(out.Nodes, p.nodes...)
		there[p.order.LaunchID] += len(p.nodes)
	}
	for _, p := range ps.doubt {
		out.Nodes = append(out.Nodes, p.nodes[min(len(p.nodes), there[p.order.LaunchID]):]...)
	}
	out.Sort()
	return &out
}
