package decide

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// A step saves what is left when the pods have landed where kube-scheduler puts them. The
// three pods fit the room on the others exactly, but kube-scheduler gives the room for two of them to
// the largest one, and a machine is needed for the last.
func TestSavingWhereKubeSchedulerPutsPods(t *testing.T) {
	for name, c := range map[string]struct {
		small float64 // what the machine for the last pod costs
		limit int     // of cores
		pods  []string
		want  string
		saves offer.Price
	}{
		"the last pod finds no room":                         {0.15, 100, []string{"3", "2", "2"}, "n1 ->", 250_000},
		"its machine costs more than is saved":               {0.45, 100, []string{"3", "2", "2"}, "->", 0},
		"two pods find room wherever kube-scheduler spreads": {0.45, 100, []string{"2100m", "2"}, "n1 ->", 400_000},
		"a limit allows its machine once the node has gone":  {0.15, 24, []string{"3", "2", "2"}, "n1 ->", 250_000},
		"a limit does not allow its machine":                 {0.15, 18, []string{"3", "2", "2"}, "->", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []offer.InstanceType{sold("large", 8, 0.4), sold("little", 3, c.small)}).provisioner("default", fmt.Sprintf("%s, limits: {resources: {cpu: %d}}", consolidating, c.limit))
			w.node("n1", "large", "a", nil).node("n2", "large", "a", nil).node("n3", "large", "a", nil)
			for _, cores := range c.pods {
				w.replicas(1, "web", "n1", "requests: {cpu: "+cores+", memory: 1Gi}")
			}
			w.replicas(1, "db", "n2", "requests: {cpu: 3900m, memory: 1Gi}").replicas(1, "db", "n3", "requests: {cpu: 4800m, memory: 1Gi}").older()
			plan := w.decide()
			verify(t, &w.in, &plan)
			if got := consolidated(plan); got != c.want {
				t.Fatalf("got %q, want %q: %s", got, c.want, why(plan, "n1"))
			}
			for _, s := range plan.Consolidation.Steps {
				if s.Saving != c.saves {
					t.Errorf("%v saves %d, want %d", s.Nodes, s.Saving, c.saves)
				}
			}
		})
	}
}

// A step does not go where a pod would wait for ever. Both pods have a place, but kube-scheduler puts
// the larger one on the only node with the label that the other one asks for.
func TestNoPodOfAStepWaitsForEver(t *testing.T) {
	w := newWorld(t, shop()[:1]).provisioner("default", consolidating)
	w.node("n1", "large", "a", nil).node("n2", "large", "a", nil).node("n3", "large", "a", func(n *cluster.Node) {
		ofOthers(n)
		n.Labels["disk"] = "ssd"
	})
	w.replicas(1, "web", "n1", "requests: {cpu: 3500m, memory: 1Gi}").replicas(1, "db", "n1", "nodeSelector: {disk: ssd}, requests: {cpu: 2, memory: 1Gi}")
	w.replicas(1, "own", "n2", "nodeSelector: {$host: n2}, requests: {cpu: 3900m, memory: 1Gi}").replicas(1, "own", "n3", "requests: {cpu: 2900m, memory: 1Gi}")
	plan := w.older().decide()
	verify(t, &w.in, &plan)
	if got, want := why(plan, "n1"), "kube-scheduler would leave some of its pods without room, and machines for these cannot be bought or cost more than the step saves"; consolidated(plan) != "->" || got != want {
		t.Errorf("got %q: %q, want %q", consolidated(plan), got, want)
	}
}
