package decide

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// What a step saves is what the bill falls by. What a node costs beyond its price decides whether a step is taken,
// but nobody is billed for it.
func TestSavingIsOfPrices(t *testing.T) {
	for name, c := range map[string]struct {
		large    float64
		nodeCost offer.Price
		want     string
		saves    offer.Price
	}{
		"one node for two, and the price falls": {0.37, 50_000, "the 4 pods of n1, n2 fit on a cheaper machine, which saves $0.0300 per hour", 30_000},
		"one node for two, and the price stays": {0.4, 50_000, "the 4 pods of n1, n2 fit on a machine, which takes fewer nodes", 0},
		"one node for two, and the price rises": {0.43, 50_000, "the 4 pods of n1, n2 fit on a machine, which takes fewer nodes", 0},
		"a node costs nothing beyond its price": {0.37, NoNodeCost, "the 4 pods of n1, n2 fit on a cheaper machine, which saves $0.0300 per hour", 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []offer.InstanceType{sold("large", 8, c.large), sold("medium", 4, 0.2)}).provisioner("default", consolidating)
			w.in.Settings.NodeCost = c.nodeCost
			w.node("n1", "medium", "a", nil).node("n2", "medium", "a", nil)
			const pod = "requests: {cpu: 1100m, memory: 1Gi}"
			w.replicas(2, "web", "n1", pod).replicas(2, "web", "n2", pod)
			plan := w.older().decide()
			if got := consolidated(plan); got != "n1 n2 -> large" {
				t.Fatalf("got %q: %s", got, why(plan, "n1"))
			}
			if got := plan.Consolidation.Steps[0].Saving; got != c.saves {
				t.Errorf("the step saves %d, want %d", got, c.saves)
			}
			for _, r := range plan.Removals {
				if r.Message != c.want || r.Saving != c.saves/2 {
					t.Errorf("%s saves %d: %q, want %q", r.Node, r.Saving, r.Message, c.want)
				}
			}
		})
	}
}
