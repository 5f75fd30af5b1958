package consolidate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// Replacement is machines in the place of nodes, with those candidates only with which
// something is saved whatever comes.
type Replacement struct {
	Machines []pack.Machine
	saving   offer.Price
	// why the nodes may not be replaced by them; empty if they may.
	why string
	// forgone is what would be saved if spot nodes might be replaced by spot however few types could serve; 0 where
	// something else keeps the nodes.
	forgone offer.Price
}

// Why nodes may not be replaced by machines.
const (
	nothingCheaper    = "nothing cheaper can be bought for its pods"
	neededSaveNothing = "minValues also asks for instance types that would save nothing"
)

// choiceShare is the part of the saving, one in so many, that a choice of machines for
// the launch may cost.
const choiceShare = 10

// Restrict leaves of the machines' candidates those of the planned capacity type that cost
// no more than the planned one and a tenth of its share of the saving, and those that minValues
// demand as long as they save something. A spot node is replaced by spot only where enough types
// could serve, the cheapest of which are then offered: so chasing prices does not end in the pool
// that is interrupted most, and ends once too few types are cheaper. The cost is that of the nodes
// together, and spot says whether there is a spot node among them.
func Restrict(machines []pack.Machine, cost offer.Price, spot bool) Replacement {
	saving := cost
	for i := range machines {
		saving -= machines[i].Cost
	}
	if saving <= 0 {
		return Replacement{Machines: machines, saving: saving, why: nothingCheaper}
	}
	out := Replacement{saving: saving}
	if len(machines) == 0 {
		return out
	}
	share := saving / offer.Price(len(machines))
	for _, m := range machines {
		planned := m.Candidates[0]
		again := spot && planned.CapacityType == api.CapacitySpot
		highest := planned.Price + max(share-1, 0) // less than its share, so that something is saved
		most := min(highest, planned.Price+share/choiceShare)
		if again {
			most = min(highest, max(priceOfTypes(m.Candidates), highestPrice(m.Needed)))
		}
		m.Candidates = slices.DeleteFunc(slices.Clone(m.Candidates), func(c offer.Candidate) bool {
			demanded := c.Price <= highest && slices.Contains(m.Needed, c)
			return c.Price > most && !demanded || c.CapacityType != planned.CapacityType
		})
		if n := types(m.Candidates); again && n < minSpotTypes && out.why == "" {
			out.why = fmt.Sprintf("a spot node is replaced by spot only if %d cheaper instance types are possible for its pods, not %d", minSpotTypes, n)
			out.forgone = saving
		}
		if lost(m.Needed, m.Candidates) { // whatever the rule for spot says
			out.why, out.forgone = neededSaveNothing, 0
		}
		out.saving -= highestPrice(m.Candidates) - planned.Price
		out.Machines = append(out.Machines, m)
	}
	return out
}

// lost reports whether a candidate that is needed is not left.
func lost(needed, left []offer.Candidate) bool {
	return slices.ContainsFunc(needed, func(c offer.Candidate) bool { return !slices.Contains(left, c) })
}

// Saving is what is saved for each hour at least, and why the nodes may not be replaced by these
// machines; empty if they may.
func (r *Replacement) Saving() (saving offer.Price, why string) { return r.saving, r.why }

// highestPrice is the highest price of the candidates; 0 if there are none.
func highestPrice(candidates []offer.Candidate) (price offer.Price) {
	for _, c := range candidates {
		price = max(price, c.Price)
	}
	return price
}

// priceOfTypes is the price up to which minSpotTypes instance types are to be had as spot, or all that there are.
func priceOfTypes(candidates []offer.Candidate) offer.Price {
	byType := map[string]offer.Price{}
	for _, c := range candidates {
		if price, ok := byType[c.InstanceType]; c.CapacityType == api.CapacitySpot && (!ok || c.Price < price) {
			byType[c.InstanceType] = c.Price
		}
	}
	prices := slices.Sorted(maps.Values(byType))
	return prices[min(len(prices), minSpotTypes)-1]
}

// types counts the instance types of candidates.
func types(candidates []offer.Candidate) int {
	seen := map[string]bool{}
	for _, c := range candidates {
		seen[c.InstanceType] = true
	}
	return len(seen)
}
