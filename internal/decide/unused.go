package decide

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// estimate says of the nodes that something keeps, before anybody looks for a cheaper place
// for their pods, what their unused room costs. Nothing is known to be open where that look
// has found no cheaper place.
func (t *turn) estimate(c *Consolidation, nodes []*retire.Node) {
	if c == nil {
		return
	}
	byName := make(map[string]*retire.Node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	for i := range c.Stays {
		if s := &c.Stays[i]; s.Blocker != retire.BlockedUnpaid {
			s.Unused = t.unused(byName[s.Node])
		}
	}
}

// unused is the price of the room on a node that none of its pods requests, those of
// DaemonSets included; 0 where the node's price is not known.
func (t *turn) unused(n *retire.Node) offer.Price {
	asks := amount.List{}
	for _, p := range n.Pods {
		asks = asks.Plus(p.Template.Requests)
	}
	return max(0, t.priceOf(n)-t.rates().Value(asks))
}
