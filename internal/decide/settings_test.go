package decide

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestSettingsDefaults(t *testing.T) {
	for name, c := range map[string]struct {
		in       Settings
		nodeCost offer.Price
		trials   int
	}{
		"nothing set":       {Settings{}, DefaultNodeCost, 0},
		"no cost of a node": {Settings{NodeCost: NoNodeCost}, 0, 0},
		"a cost of its own": {Settings{NodeCost: 7}, 7, 0},
		"a budget":          {Settings{PackingBudget: time.Millisecond}, DefaultNodeCost, 200},
		"hardly any budget": {Settings{PackingBudget: 1}, DefaultNodeCost, 1},
		"a budget below 0":  {Settings{PackingBudget: -1}, DefaultNodeCost, 0},
	} {
		if got := c.in.nodeCost(); got != c.nodeCost {
			t.Errorf("%s: a node costs %d, want %d", name, got, c.nodeCost)
		}
		if got := c.in.trials(); got != c.trials {
			t.Errorf("%s: got %d trials, want %d", name, got, c.trials)
		}
	}
}
