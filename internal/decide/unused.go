package decide

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/consolidate"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// measure says how much of a node's price its pods use. Pods are measured by the nodes of
// their own Provisioner that give most room for their price. Measured by another Provisioner,
// which may sell cheaper machines that these pods cannot use, full nodes would seem badly used,
// and so they would if measured by nodes in capacity reservations, which cost next to nothing.
type measure struct {
	unitPrices *consolidate.UnitPrices
	// most room for the price, by Provisioner.
	most map[string]float64
}

func (d *decision) measure(nodes []*retire.Node) measure {
	m := measure{d.unitPrices(), map[string]float64{}}
	for _, n := range nodes {
		if price := d.priceOf(n); price > 0 && !n.Reserved() {
			name := n.Provisioner.Name
			m.most[name] = max(m.most[name], float64(m.unitPrices.Value(n.Allocatable))/float64(price))
		}
	}
	return m
}

// used is the part of a node's price that pays for what is asked for there.
func (m *measure) used(n *retire.Node, price offer.Price, asks amount.List) offer.Price {
	most := m.most[n.Provisioner.Name]
	if most == 0 {
		return 0
	}
	return min(price, offer.Price(float64(m.unitPrices.Value(asks))/most))
}

// estimate sets what the unused room costs of nodes that something keeps, for whose pods no
// cheaper place was looked for. If the search has found no cheaper place, nothing is known to
// be left to save. If it has found one that the rule for spot nodes forbids, that is the most: the
// price of a full node that is only a little more than that of another type is no waste, because
// prices must not be chased.
func (d *decision) estimate(c *Consolidation, nodes []*retire.Node) {
	if c == nil || len(c.Stays) == 0 {
		return
	}
	byName := make(map[string]*retire.Node, len(nodes))
	for _, n := range nodes {
		byName[n.Name] = n
	}
	measure := d.measure(nodes)
	for i := range c.Stays {
		s := &c.Stays[i]
		switch s.Blocker {
		case retire.BlockedUnpaid:
		case retire.BlockedSpot:
			s.Unused = min(s.Unused, d.unused(byName[s.Node], &measure))
		default:
			s.Unused = d.unused(byName[s.Node], &measure)
		}
	}
}

// unused is the price of the room on a node that none of its pods requests, those of
// DaemonSets included; 0 where the node's price is not known.
func (d *decision) unused(n *retire.Node, m *measure) offer.Price {
	asks := amount.List{}
	for _, p := range n.Pods {
		asks = asks.Plus(p.Template.Requests)
	}
	price := d.priceOf(n)
	return price - m.used(n, price, asks)
}
