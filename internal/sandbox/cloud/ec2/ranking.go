package ec2

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
)

// ordering is by what a fleet ranks its candidates, in this order. Ties are
// broken by price and then by name.
type ordering struct {
	capacity bool // pools that can supply the whole target come first
	priority bool
}

// orderOf returns the ordering of the fleet's allocation strategy.
func orderOf(in *ec2.CreateFleetInput) ordering {
	if fleetCapacityType(in) == catalogue.OnDemand {
		prioritized := in.OnDemandOptions != nil && in.OnDemandOptions.AllocationStrategy == types.FleetOnDemandAllocationStrategyPrioritized
		return ordering{priority: prioritized}
	}
	strategy := types.SpotAllocationStrategyLowestPrice
	if in.SpotOptions != nil && in.SpotOptions.AllocationStrategy != "" {
		strategy = in.SpotOptions.AllocationStrategy
	}
	switch strategy {
	case types.SpotAllocationStrategyCapacityOptimizedPrioritized:
		return ordering{capacity: true, priority: true}
	case types.SpotAllocationStrategyCapacityOptimized, types.SpotAllocationStrategyPriceCapacityOptimized:
		return ordering{capacity: true}
	}
	return ordering{}
}

// priorityOf returns the override's priority; without one it comes last.
func priorityOf(o types.FleetLaunchTemplateOverridesRequest) float64 {
	if o.Priority == nil {
		return math.Inf(1)
	}
	return *o.Priority
}

// rank sorts candidates by the ordering, for a fleet of target machines. Those
// that cannot be launched keep their place behind the others.
func (c *fleets) rank(candidates []*candidate, by ordering, target int) {
	slices.SortStableFunc(candidates, func(a, b *candidate) int {
		if aBroken, bBroken := a.problem != nil, b.problem != nil; aBroken || bBroken {
			return compareBools(aBroken, bBroken)
		}
		order := 0
		if by.capacity {
			order = compareBools(c.isShort(a, target), c.isShort(b, target))
		}
		if by.priority {
			order = cmp.Or(order, cmp.Compare(a.priority, b.priority))
		}
		return cmp.Or(order,
			cmp.Compare(c.priceOf(a), c.priceOf(b)),
			strings.Compare(a.spec.instanceType.Name, b.spec.instanceType.Name),
			strings.Compare(a.spec.subnet.Zone, b.spec.subnet.Zone))
	})
}

func (c *fleets) priceOf(candidate *candidate) int64 {
	return c.Catalogue.PriceMicros(candidate.spec.instanceType, candidate.spec.subnet.Zone, candidate.spec.capacityType)
}

// isShort tells whether the candidate's pool has fewer than target machines.
func (c *fleets) isShort(candidate *candidate, target int) bool {
	left, limited := c.Capacity.Left(candidate.spec.pool())
	return limited && left < target
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
