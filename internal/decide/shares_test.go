package decide

import (
	"fmt"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// families are instance types of 2 to 16 CPUs with 2, 4 and 8 GiB for each.
func families() []offer.InstanceType {
	var out []offer.InstanceType
	for _, cpu := range []int64{2, 4, 8, 16} {
		for _, gib := range []int64{2, 4, 8} {
			out = append(out, size(fmt.Sprintf("%d-%d", cpu, cpu*gib), cpu, cpu*gib, 100))
		}
	}
	return byName(out)
}

// served counts the pods with a place by the first letter of their names.
func (p *Plan) served() map[string]int {
	out := map[string]int{}
	for _, m := range p.Machines {
		for _, pod := range m.Pods {
			out[pod.Name[:1]]++
		}
	}
	return out
}

// TestPrioritiesShareMachinesUnderALimit: the cheapest machines for the pods of high priority alone would leave less
// of the limit than machines for all of them.
func TestPrioritiesShareMachinesUnderALimit(t *testing.T) {
	plan := newWorld(t, families()).provisioner("default", `{limits: {resources: {cpu: "24"}}}`).
		pods(4, "b", `{requests: {cpu: "3", memory: 2Gi}, priority: 10}`).
		pods(100, "a", `{requests: {cpu: 100m, memory: 2Gi}}`).decide()
	if got := plan.served(); got["b"] != 4 || got["a"] < 85 {
		t.Errorf("%d pods of high priority and %d others have a place, want 4 and at least 85", got["b"], got["a"])
	}
}

// TestPodsOfLowPriorityHaveTheirTurnUnderALimit: what is done for pods that a limit leaves over leaves out none of a
// Provisioner without one, even if they are less important.
func TestPodsOfLowPriorityHaveTheirTurnUnderALimit(t *testing.T) {
	plan := newWorld(t, families()).provisioner("default", `{limits: {resources: {cpu: "24"}}}`).
		provisioner("other", `{labels: {team: x}, taints: [{key: special, effect: NoSchedule}]}`).
		pods(4, "b", `{requests: {cpu: "3", memory: 2Gi}, priority: 10}`).
		pods(98, "a", `{requests: {cpu: 100m, memory: 2Gi}, priority: 5}`).
		pods(7, "c", `{requests: {cpu: "1", memory: 2Gi}, nodeSelector: {team: x}, tolerations: [{operator: Exists}]}`).decide()
	if got := plan.served(); got["b"] != 4 || got["a"] < 85 || got["c"] != 7 {
		t.Errorf("%v have a place, want 4 of b, at least 85 of a, and 7 of c", got)
	}
}

// TestRefusedPodsChangeNothingForOthers: nothing is sold for pods in zone c, so that their spread lets only some of
// them in elsewhere. The machines are those that would be bought without the rest.
func TestRefusedPodsChangeNothingForOthers(t *testing.T) {
	price := func(n int) offer.Price {
		spread := `topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Ignore, labelSelector: {matchLabels: {app: %s}}}]`
		plan := newWorld(t, families()).
			provisioner("open", `{requirements: [{key: $zone, operator: In, values: [a, b]}]}`).
			provisioner("special", `{requirements: [{key: $zone, operator: In, values: [c]}], taints: [{key: special, effect: NoSchedule}]}`).
			pods(n, "ignore", `{labels: {app: ignore}, requests: {cpu: 900m, memory: 2Gi}, `+fmt.Sprintf(spread, "ignore")+`}`).
			pods(9, "tolerant", `{labels: {app: tolerant}, tolerations: [{operator: Exists}], requests: {cpu: 900m, memory: 2Gi}, `+fmt.Sprintf(spread, "tolerant")+`}`).decide()
		if got := plan.served(); got["i"] != 2 || got["t"] != 9 {
			t.Fatalf("of %d and 9 pods, %v have a place, want 2 and 9", n, got)
		}
		return plan.HourlyPrice
	}
	if with, without := price(9), price(2); with > without {
		t.Errorf("$%.4f per hour with pods that have no place, and $%.4f without them", with.Dollars(), without.Dollars())
	}
}
