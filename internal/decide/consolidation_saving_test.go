package decide

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
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

// A node for whose pod a machine is bought although there seemed to be room for it elsewhere is not one node fewer.
func TestSavingIsOfPricesWhereAMachineIsNeeded(t *testing.T) {
	w := newWorld(t, []offer.InstanceType{sold("large", 8, 0.4), sold("small", 2, 0.1)}).provisioner("default", consolidating)
	w.in.Settings.NodeCost = 50_000
	const pod = "requests: {cpu: 1100m, memory: 1Gi}"
	w.node("n", "large", "a", nil).replicas(1, "web", "n", pod+", topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]")
	for i := range 10 { // the first two are full, and have the replicas
		name := fmt.Sprint("other-", i)
		w.node(name, "large", []string{"b", "c"}[i%2], func(n *cluster.Node) { n.Provisioner = "" })
		if i < 2 {
			w.replicas(1, "web", name, "requests: {cpu: 7500m, memory: 1Gi}")
		}
	}
	plan := w.older().decide()
	if got := consolidated(plan); got != "n -> small" {
		t.Fatalf("got %q: %s", got, why(plan, "n"))
	}
	if got := plan.Consolidation.Steps[0].Saving; got != 300_000 {
		t.Errorf("the step saves %d, want 300000", got)
	}
}
