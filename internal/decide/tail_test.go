package decide

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// cheapestForEqual returns the least price of machines for n equal pods: the
// cheapest for n is one machine and the cheapest for those that it does not hold.
func cheapestForEqual(types []offer.InstanceType, cpu, memory int64, n int) offer.Price {
	least := make([]offer.Price, n+1)
	for i := 1; i <= n; i++ {
		least[i] = math.MaxInt64
		for k := range types {
			room := types[k].Allocatable()
			holds := int(min(room["cpu"]/cpu, room["memory"]/memory, room["pods"]))
			if rest := least[max(0, i-holds)]; holds > 0 && rest < math.MaxInt64 {
				least[i] = min(least[i], types[k].Offerings[0].Price+rest)
			}
		}
	}
	return least[n]
}

func TestEqualPodsAgainstTheOptimum(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var types []offer.InstanceType
		for i := range rapid.IntRange(1, 8).Draw(r, "types") {
			cpu, gib := rapid.Int64Range(1, 32).Draw(r, "cores"), rapid.Int64Range(2, 64).Draw(r, "gib")
			types = append(types, size(fmt.Sprintf("type-%d", i), cpu, gib, 10*cpu))
		}
		types = append(types, size("type-large", 64, 256, 640))
		w := newWorld(t, byName(types))
		w.provisioner("default", "{}")
		w.in.Settings.NodeCost = NoNodeCost
		cpu, memory := rapid.Int64Range(1, 40).Draw(r, "cpu")*100, rapid.Int64Range(1, 80).Draw(r, "memory")*100
		n := rapid.IntRange(1, 60).Draw(r, "pods")
		w.pods(n, "p", fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", cpu, memory))
		plan := w.decide()
		best := cheapestForEqual(w.types, cpu, memory<<20, n)
		if plan.LowerBound > best {
			r.Fatalf("the bound %d is above the optimum %d", plan.LowerBound, best)
		}
		if plan.HourlyPrice != best {
			r.Fatalf("the plan costs %d, the optimum is %d", plan.HourlyPrice, best)
		}
	})
}

// TestTailIsNotHalfEmpty holds cases in which one large machine used to be bought
// for what several smaller ones do for less.
func TestTailIsNotHalfEmpty(t *testing.T) {
	for name, c := range map[string]struct {
		given func(*world)
		most  offer.Price
	}{
		"eight large pods": {func(w *world) { w.pods(8, "p", "requests: {cpu: 2, memory: 4Gi}") }, 841_000},
		"three classes": {func(w *world) {
			w.pods(10, "a", "requests: {cpu: 250m, memory: 512Mi}")
			w.pods(10, "b", "requests: {cpu: 500m, memory: 1Gi}")
			w.pods(6, "c", "requests: {cpu: 100m, memory: 2Gi}")
		}, 396_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, realTypes(t))
			usual(w, onDemand)
			w.daemonSet("agent", "requests: {cpu: 100m, memory: 128Mi}")
			c.given(w)
			if plan := w.decide(); plan.HourlyPrice > c.most || len(plan.Unplaced) > 0 {
				t.Errorf("costs %d with %d pods unplaced, want at most %d", plan.HourlyPrice, len(plan.Unplaced), c.most)
			}
		})
	}
}
