package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Estimates are the warnings about a plan's prices: which of them were not
// published for the region, so that the total is as good as the estimate.
func Estimates(plan *decide.Plan, region *offer.Region) []string {
	if region == nil {
		return nil // nothing is sold there
	}
	estimated := map[string]bool{}
	for i := range plan.Machines {
		if name := plan.Machines[i].Chosen().InstanceType; region.Sales[name].Estimate {
			estimated[name] = true
		}
	}
	if len(estimated) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the catalogue has no published price for %s here: the plan's price is an estimate",
		strings.Join(slices.Sorted(maps.Keys(estimated)), ", "))}
}
