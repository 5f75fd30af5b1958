package agent

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/view"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/status"
)

// statusSnapshot is what a turn leaves behind for the status page. It does not change any more,
// so a status is made of it only on request.
type statusSnapshot struct {
	at      time.Time
	view    *view.View
	plan    *decide.Plan
	pending []status.Pending
	inUse   *decide.Consolidation // as of looked; nil where no Provisioner consolidates, or the look failed
	looked  time.Time
	failed  bool
	options *Options
}

// statusCache makes at most one status of each snapshot.
type statusCache struct {
	latest atomic.Pointer[statusSnapshot]

	mu     sync.Mutex // held while a status is made; the planning loop does not need it
	of     *statusSnapshot
	status *status.Status
	bound  *status.Bound
}

// publish leaves a snapshot behind. Only the planning loop calls it.
func (a *Agent) publish(v *view.View, plan *decide.Plan) {
	inUse, looked := a.consolidation.Last()
	a.status.latest.Store(&statusSnapshot{at: time.Now(), view: v, plan: plan, pending: a.history.waiting(v, plan, a.reporter.Unscheduled), inUse: inUse, looked: looked, failed: a.consolidation.HasFailed(), options: &a.options})
}

// Status returns the state of the cluster as of the last turn. An agent that does not lead only
// knows that it does not. The result must not be changed.
func (a *Agent) Status() *status.Status {
	if !a.leading.Load() {
		return &status.Status{}
	}
	latest := a.status.latest.Load()
	if latest == nil {
		return &status.Status{Leading: true}
	}
	c := &a.status
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of != latest {
		c.bound = latest.bound(a.plan, c.bound)
		c.status = latest.status()
		c.status.Bound = c.bound
		c.status.Leaving = latest.leaving(a.drainer.HeldUp())
		c.status.Recent = a.events.Recent()
		c.of = latest
	}
	return c.status
}

func (s *statusSnapshot) status() *status.Status {
	out := &status.Status{
		Leading: true, At: s.at,
		Provisioners: []status.Provisioner{}, Nodes: []status.Node{},
		Pending: s.pending, Unavailable: s.unavailable(), ConsolidationFailed: s.failed,
	}
	price := s.view.Prices()
	for _, c := range explain.Contents(s.view.Snapshot) {
		n := s.view.Snapshot.Node(c.Node)
		if n.Doubtful {
			continue
		}
		c.HourlyPrice, c.State = price(n).Dollars(), nodeState(n)
		out.HourlyPrice += c.HourlyPrice
		out.Nodes = append(out.Nodes, status.Node{Content: c, Created: n.Created, Why: n.Annotations[api.AnnotationLaunchReason]})
	}
	used := view.Capacities(s.view.Snapshot)
	for _, p := range s.view.Provisioners {
		out.Provisioners = append(out.Provisioners, s.provisioner(p, used[p.Raw.Name], price))
	}
	if c := explain.OfConsolidation(s.inUse); c != nil {
		out.Consolidation = &status.Consolidation{Consolidation: *c, At: s.looked}
	}
	return out
}

func (s *statusSnapshot) provisioner(p *view.Provisioner, used amount.List, price func(*cluster.Node) offer.Price) status.Provisioner {
	out := status.Provisioner{Name: p.Raw.Name}
	for _, n := range s.view.NodesOf(p.Raw.Name) {
		if n.Doubtful {
			out.Doubtful++
			continue
		}
		out.Nodes++
		out.HourlyPrice += price(n).Dollars()
	}
	out.Ready, out.Reason, out.Message = p.Ready.Status == metav1.ConditionTrue, p.Ready.Reason, p.Ready.Message
	limits := p.Limits()
	for _, name := range limits.Names() {
		has, may := amount.Quantity(name, used[name]), amount.Quantity(name, limits[name])
		limit := status.Limit{Resource: name, Used: has.String(), Limit: may.String(), Share: 1}
		if limits[name] > 0 {
			limit.Share = float64(used[name]) / float64(limits[name])
		}
		out.Limits = append(out.Limits, limit)
	}
	return out
}

// unavailable lists the offerings that are not bought for now, with who would.
func (s *statusSnapshot) unavailable() []status.Offering {
	known := map[offeringKey]*status.Offering{}
	for _, p := range s.view.Provisioners {
		for i := range p.Market.Types {
			t := &p.Market.Types[i]
			for _, o := range t.Offerings {
				if o.Unavailable != "" && o.Price > 0 {
					record(known, t, o, p.Raw.Name)
				}
			}
		}
	}
	out := []status.Offering{}
	for _, key := range slices.SortedFunc(maps.Keys(known), func(a, b offeringKey) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, *known[key])
	}
	return out
}

// offeringKey has the instance type, the capacity type and the zone of an offering.
type offeringKey [3]string

func record(known map[offeringKey]*status.Offering, t *offer.InstanceType, o offer.Offering, provisioner string) {
	key := offeringKey{t.Name, o.CapacityType, o.Zone}
	if known[key] == nil {
		known[key] = &status.Offering{InstanceType: t.Name, Zone: o.Zone, CapacityType: o.CapacityType, Why: o.Unavailable}
	}
	known[key].Provisioners = append(known[key].Provisioners, provisioner)
}

// waiting says for the pods that wait for a node why they do, in the order of the
// snapshot. Pods that wait for the same reason share an item. The last argument says what keeps a
// pod from a node that it fits; empty for nothing.
func (h *history) waiting(v *view.View, plan *decide.Plan, refused func(uid, node string) string) []status.Pending {
	unplaced := map[string]string{}
	for _, u := range plan.Waiting() {
		unplaced[u.Pod.UID] = u.Reason
	}
	out, index := []status.Pending{}, map[string]int{}
	for _, p := range slices.Concat(v.Snapshot.Pending(), v.Snapshot.Failing()) {
		why, stuck := unplaced[p.UID], true
		if p.State == cluster.PodFailing {
			why = "is not bound, because its scheduler reports an error: its condition PodScheduled says which"
		}
		if why == "" {
			why = refused(p.UID, h.planned[p.UID].Node)
		}
		if why == "" {
			why, stuck = h.awaited(v, p), false
		}
		i, ok := index[why]
		if !ok {
			i = len(out)
			index[why] = i
			out = append(out, status.Pending{Why: why, Stuck: stuck})
		}
		w := &out[i]
		w.Count++
		if len(w.Pods) < status.MaxPods {
			w.Pods = append(w.Pods, p.String())
		}
		since := cmp.Or(p.Created, h.firstSeen[p.UID]) // this agent may have begun to lead in between
		if !since.IsZero() && (w.Since.IsZero() || since.Before(w.Since)) {
			w.Since = since
		}
	}
	return out
}

// awaited says what a pod waits for that has a place, or came after the decision.
func (h *history) awaited(v *view.View, p *cluster.Pod) string {
	planned, ok := h.planned[p.UID]
	if !ok {
		return "appeared after the last plan; the next plan includes it"
	}
	switch n := v.Snapshot.Node(planned.Node); {
	case n == nil || n.HasBeenUp():
	case n.ProviderID == "": // the cloud has not answered yet, and nothing has this name
		return "has a place on a machine that is being bought"
	default:
		return fmt.Sprintf("has a place on node %s, which is starting", planned.Node)
	}
	return fmt.Sprintf("has a place on node %s", planned.Node)
}
