package decide

import (
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// MovedRest is for how long a pod that was moved costs more to be moved again.
const MovedRest = time.Hour

// evictionCosts knows what it costs to move pods.
type evictionCosts struct {
	unitPrices *consolidate.UnitPrices
	replicas   map[string]int // that run, by the owner's UID
	pods       map[*cluster.Template]offer.Price
	moved      map[string]time.Time // as Input.Moved
	now        time.Time
}

func (c *consolidator) evictionCosts() *evictionCosts {
	out := &evictionCosts{replicas: map[string]int{}, pods: map[*cluster.Template]offer.Price{}, moved: c.in.Moved, now: c.in.Now}
	out.unitPrices = c.unitPrices()
	for _, p := range c.onNodes {
		if p.State == cluster.PodBound && p.Owner.UID != "" {
			out.replicas[p.Owner.UID]++
		}
	}
	return out
}

// unitPrices are what resources cost for all pods on nodes.
func (d *decision) unitPrices() *consolidate.UnitPrices {
	if d.priced == nil {
		prices := consolidate.NewUnitPrices(d.packProvisioners(), consolidate.Demand(d.in.Snapshot))
		d.priced = &prices
	}
	return d.priced
}

// moves lists the pods of a node that would come back elsewhere, with their costs.
func (e *evictionCosts) moves(n *retire.Node) []consolidate.Move {
	factor, _ := n.Provisioner.Spec.EvictionCost()
	factor *= lifetimeLeft(n, e.now)
	var out []consolidate.Move
	for _, p := range n.Pods {
		if !moves(p) {
			continue
		}
		value, ok := e.pods[p.Template]
		if !ok {
			value = e.unitPrices.Value(p.Template.Requests)
			e.pods[p.Template] = value
		}
		at, moved := e.moved[p.UID]
		weight := consolidate.Weight(p, e.replicas[p.Owner.UID], moved && e.now.Before(at.Add(MovedRest)))
		out = append(out, consolidate.Move{Pod: p, Cost: float64(value) * factor * weight})
	}
	return out
}

// lifetimeLeft is the part of its lifetime that a node still has: pods of one that
// expires soon are moved soon anyway.
func lifetimeLeft(n *retire.Node, now time.Time) float64 {
	whole, expires := n.Provisioner.Spec.ExpireAfter()
	if !expires || whole <= 0 {
		return 1
	}
	return min(1, max(0, 1-float64(now.Sub(n.Created))/float64(whole)))
}
