package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Guide leads new pods away from a node, by so many soft taints; 0 takes them off.
type Guide struct {
	Node  string
	Grade int
}

const (
	// guideFill is which part of a node's price its pods are worth where nodes are filled as
	// well as can be hoped for: the nodes beyond what the pods need at that are led away from.
	guideFill = 0.9
	// guideStays keeps the order of nodes that are about equally full: each soft taint that a
	// node has counts as so much less of its price that is used.
	guideStays = 0.05
)

// use is a node with what its pods are worth.
type use struct {
	node  *retire.Node
	price offer.Price
	value offer.Price
	keeps bool // something keeps it anyway
}

// rank is by how much of its price is used.
func (u *use) rank() float64 {
	return float64(u.value)/float64(u.price) - guideStays*float64(u.node.Guide)
}

// guides says from which nodes new pods are led away: from those that the pods would not
// need if the others were full, the emptiest most. Kept for the last are nodes that cannot
// go. Only changes are listed.
func (t *turn) guides(nodes []*retire.Node) []Guide {
	if t.in.NotConsolidated {
		return nil
	}
	grades := map[string]int{}
	uses, total := t.uses(nodes)
	slices.SortStableFunc(uses, func(a, b *use) int {
		if a.keeps != b.keeps {
			if a.keeps {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), strings.Compare(a.node.Name, b.node.Name))
	})
	var sum offer.Price
	first := len(uses)
	for i, u := range uses {
		if float64(sum)*guideFill >= float64(total) && !u.keeps {
			first = i
			break
		}
		sum += u.price
	}
	less := uses[first:]
	for i, u := range less {
		grades[u.node.Name] = 1 + i*cluster.MostGuide/len(less)
	}
	var out []Guide
	for _, n := range nodes {
		if grade := grades[n.Name]; grade != n.Guide {
			out = append(out, Guide{Node: n.Name, Grade: grade})
		}
	}
	return out
}

// uses lists the nodes from which pods may be led away, and what all pods on them are worth.
func (t *turn) uses(nodes []*retire.Node) (out []*use, total offer.Price) {
	for _, n := range t.staying(nodes) {
		_, on := n.Provisioner.Spec.ConsolidateAfter()
		if t.in.Settings.NotGuided || !on || !n.Provisioner.Spec.ConsolidationEnabled() || !n.Initialized {
			continue
		}
		price := t.priceOf(n)
		if price == 0 {
			continue
		}
		asks := amount.List{}
		for _, p := range n.Pods {
			if !p.Template.DaemonSet && !p.Template.Static {
				asks = asks.Plus(p.Template.Requests)
			}
		}
		u := &use{node: n, price: price, value: t.rates().Value(asks), keeps: t.caseOf(retire.Finding{Node: n, Reason: retire.Consolidated}).Vetoed() != ""}
		total += min(u.value, price)
		out = append(out, u)
	}
	return out, total
}
