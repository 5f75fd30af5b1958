package pack

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// countBound returns the price of the machines that one class makes necessary, of the
// one for which that is most: nodes that exist take no more of its pods than they had
// room for, and of the others no machine takes more than may be on one node, or costs
// less than the cheapest that holds one.
//
// Spreads over host names are left out: how many pods they allow on a node depends on
// how many all others have.
func (s *solver) countBound(classes []placedClass) float64 {
	bound := int64(0)
	for _, c := range classes {
		touches := slices.DeleteFunc(slices.Clone(c.class.PerNode), func(t topology.PerNode) bool {
			return slices.ContainsFunc(c.class.NodeSpreads(), func(sp *topology.NodeSpread) bool { return sp.Group() == t.Group })
		})
		left, most := s.leftByNodes(&c, touches), topology.NodeCounts{}.Room(touches, c.n)
		cheapest := s.cheapest(c.mask)
		if left > 0 && most > 0 && cheapest < math.MaxInt64 {
			bound = max(bound, (left+most-1)/most*cheapest)
		}
	}
	return float64(bound)
}

// leftByNodes returns how many pods of a class the nodes cannot have taken.
func (s *solver) leftByNodes(c *placedClass, touches []topology.PerNode) int64 {
	left := c.n
	for i, room := range s.roomBefore {
		if left <= 0 {
			break
		}
		left -= s.hostBefore[i].Room(touches, amount.Copies(c.class.Need, room, left))
	}
	return left
}
