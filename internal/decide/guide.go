package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
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
	// guideKept is how much the fullest nodes, which get neither soft taints nor marked pods,
	// cost together, as a part of what all pods are worth. With 1.1, hardly any node was marked
	// although most could have gone, and the timeline "breathing" cost 0.8 % more at 7 % more
	// evictions. A lower value marks more pods without any gain.
	guideKept = 0.75
	// guideStays keeps the order of nodes that are about equally full: each soft taint that a
	// node has counts as so much less of its price that is used.
	guideStays = 0.05
	// mostSteers bounds the pods that one plan marks or unmarks. Each takes a request, of which
	// the agent makes up to 500 per second, and a list that is longer is out of date before it
	// is carried out: without a bound, a list for 5,000 nodes has 60,000 pods.
	mostSteers = 5000
)

// use is a node with what its pods would cost on full machines of its Provisioner.
type use struct {
	node  *retire.Node
	price offer.Price
	value offer.Price
	keeps bool // something keeps it anyway
}

// Steer is how much sooner than others a pod should be ended by its owner when the owner scales
// down; 0 leaves the choice to the owner.
type Steer struct {
	Pod   cluster.PodKey
	Grade int
	was   int // the grade that the pod has
}

// rank is by how much of its price is used.
func (u *use) rank() float64 {
	return float64(u.value)/float64(u.price) - float64(guideStays*float64(u.node.Guide))
}

// steer says from which nodes new pods are led away, and which pods their owners should end
// first when they scale down: those on the same nodes. Only changes are listed, and only those
// that matter most if there are very many.
func (d *decision) steer(nodes []*retire.Node) (guides []Guide, steers []Steer) {
	if d.in.NotConsolidated {
		return nil, nil
	}
	var grades map[string]int
	if !d.in.Settings.NotGuided || !d.in.Settings.NotSteered {
		grades = d.grades(nodes)
	}
	for _, n := range nodes {
		grade := grades[n.Name]
		if d.in.Settings.NotGuided {
			grade = 0
		}
		if grade != n.Guide {
			guides = append(guides, Guide{Node: n.Name, Grade: grade})
		}
	}
	for _, p := range d.onNodes {
		if d.leaving[p.NodeName] || d.surging(p.NodeName) {
			continue // they end in any case, and surge may mark them at the same time
		}
		grade := grades[p.NodeName]
		if d.in.Settings.NotSteered || p.CostSet || p.Owner.Kind != "ReplicaSet" {
			grade = 0
		}
		if p.State == cluster.PodBound && grade != p.Steered {
			steers = append(steers, Steer{Pod: p.PodKey, Grade: grade, was: p.Steered})
		}
	}
	return guides, firstSteers(steers, mostSteers)
}

// firstSteers returns at most so many: pods that are or were to end soonest come first.
func firstSteers(all []Steer, most int) []Steer {
	if len(all) <= most {
		return all
	}
	slices.SortStableFunc(all, func(a, b Steer) int { return cmp.Compare(max(b.Grade, b.was), max(a.Grade, a.was)) })
	return all[:most]
}

// surging reports whether pods of a node are being moved by surge, whose marks they have.
func (d *decision) surging(node string) bool {
	n := d.in.Snapshot.Node(node)
	return n != nil && n.Annotations[api.AnnotationSurging] != ""
}

// grades are the nodes that should become empty sooner than others, the emptiest with the
// highest grade. Nodes that cannot go come last.
func (d *decision) grades(nodes []*retire.Node) map[string]int {
	grades := map[string]int{}
	uses, total := d.uses(nodes)
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
		if float64(sum) >= guideKept*float64(total) && !u.keeps {
			first = i
			break
		}
		sum += u.price
	}
	less := uses[first:]
	for i, u := range less {
		grades[u.node.Name] = 1 + i*cluster.MostGuide/len(less)
	}
	return grades
}

// uses lists the nodes from which pods may be led away, and the value of all pods on them. An empty
// node in a capacity reservation would save nothing.
func (d *decision) uses(nodes []*retire.Node) (out []*use, total offer.Price) {
	for _, n := range d.staying(nodes) {
		if _, on := n.Provisioner.Spec.ConsolidateAfter(); !on || !n.Initialized || n.Reserved() {
			continue
		}
		if price := d.priceOf(n); price > 0 {
			out = append(out, &use{node: n, price: price})
		}
	}
	if len(out) == 0 {
		return nil, 0 // what resources cost has to be worked out from the whole catalogue
	}
	measure := d.measure(nodes)
	for _, u := range out {
		asks := amount.List{}
		for _, p := range u.node.Pods {
			if !p.Template.BelongsToNode() {
				asks = asks.Plus(p.Template.Requests)
			}
		}
		u.value = measure.used(u.node, u.price, asks)
		u.keeps = d.caseOf(retire.DueNode{Node: u.node, Reason: retire.Consolidated}).Vetoed() != ""
		total += u.value
	}
	return out, total
}
