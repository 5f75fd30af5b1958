package decide

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

// TestPriceIsNearTheBound holds the plans for mixed pods to within 1 % of the
// proven bound, on the types of EC2.
func TestPriceIsNearTheBound(t *testing.T) {
	for name, c := range map[string]struct{ classes, replicas int }{
		"40 classes":          {40, 50},
		"100 classes":         {100, 10},
		"every pod different": {1000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			w := newWorld(t, realTypes(t))
			usual(w, onDemand)
			for i := range c.classes {
				w.pods(c.replicas, fmt.Sprintf("c%d-", i), fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 50+r.IntN(3000), 64+r.IntN(8000)))
			}
			plan := w.decide()
			if price, bound := float64(plan.HourlyPrice), float64(plan.LowerBound); price > 1.01*bound || len(plan.Unplaced) > 0 {
				t.Errorf("costs %.2f %% more than the bound, with %d pods unplaced", 100*(price/bound-1), len(plan.Unplaced))
			}
		})
	}
}

// TestSpotPodsStayOffOnDemandMachines holds the price of pods half of which must not
// be on spot machines: room that is bought at a higher price for some is not given to
// others.
func TestSpotPodsStayOffOnDemandMachines(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	w := newWorld(t, realTypes(t))
	usual(w, "requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}, {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}]")
	for i := range 40 {
		spec := fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", 50+r.IntN(3000), 64+r.IntN(8000))
		if i%2 == 0 {
			spec += ", nodeSelector: {karpenter.sh/capacity-type: on-demand}"
		}
		w.pods(20, fmt.Sprintf("c%d-", i), "{"+spec+"}")
	}
	plan := w.decide()
	if price, bound := float64(plan.HourlyPrice), float64(plan.LowerBound); price > 1.03*bound || len(plan.Unplaced) > 0 {
		t.Errorf("costs %.2f %% more than the bound, with %d pods unplaced", 100*(price/bound-1), len(plan.Unplaced))
	}
}

// TestBoundCountsMachines: pods that must be apart need a machine each beyond the nodes
// that exist, which the bound knows.
func TestBoundCountsMachines(t *testing.T) {
	for name, rule := range map[string]string{
		"anti-affinity": "labels: {app: a}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {app: a}}}]}}",
		"host ports":    "ports: [{hostPort: 80}]",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, realTypes(t))
			usual(w, onDemand)
			w.node("n1", "m7g.large", "us-east-1a", func(*cluster.Node) {})
			w.node("n2", "m7g.large", "us-east-1b", func(*cluster.Node) {})
			w.running("there", "n2", "{requests: {cpu: 100m}, "+rule+"}")
			w.pods(10, "p", "{requests: {cpu: 100m, memory: 100Mi}, "+rule+"}")
			plan := w.decide()
			if len(plan.Machines) != 9 || plan.LowerBound != plan.HourlyPrice {
				t.Errorf("%d machines for %v, the bound is %v", len(plan.Machines), plan.HourlyPrice.Dollars(), plan.LowerBound.Dollars())
			}
		})
	}
}

// apart spells anti-affinity over host names between the pods app=apart.
const apart = "labels: {app: apart}, affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {app: apart}}}]}}"

// TestBoundPricesPlaces: machines that pods need because they keep apart are no larger
// than all pods need, each with its overhead, which the bound knows.
func TestBoundPricesPlaces(t *testing.T) {
	w := newWorld(t, ladder(8))
	w.provisioner("default", "{}")
	w.pods(10, "a", "{requests: {cpu: 475m}, "+apart+"}")
	w.pods(30, "b", "requests: {cpu: 475m}")
	plan := w.decide()
	verify(t, &w.in, &plan)
	if len(plan.Machines) != 10 || plan.LowerBound < plan.HourlyPrice-1 { // it is rounded down
		t.Errorf("%d machines for %v, the bound is %v", len(plan.Machines), plan.HourlyPrice.Dollars(), plan.LowerBound.Dollars())
	}
}

// TestPodsThatKeepApartHaveCompany holds the price of a mix of very many classes that
// count each other by node, a fifth of which need a machine each: they share these with
// the others, rather than be left to nearly empty ones at the end.
func TestPodsThatKeepApartHaveCompany(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	w := newWorld(t, ladder(400))
	w.provisioner("default", "{}")
	letter := func() string { return string("abcdefg"[r.IntN(7)]) }
	size := func() string {
		return fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", []int{100, 250, 500, 1000, 1500}[r.IntN(5)], []int{100, 256, 512, 1024, 2048, 4096}[r.IntN(6)])
	}
	for i := range 400 {
		w.pods(1, fmt.Sprintf("a%d-", i), "{"+size()+", "+apart+"}")
		w.pods(2, fmt.Sprintf("b%d-", i), "{"+size()+", labels: {group: "+letter()+"}, nodeSelector: {$zone: "+"abc"[i%3:i%3+1]+"}}")
		w.pods(2, fmt.Sprintf("c%d-", i), "{"+size()+", labels: {group: "+letter()+"}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: $host, "+
			"whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {group: "+letter()+"}}}]}")
	}
	plan := w.decide()
	verify(t, &w.in, &plan)
	if price, bound := float64(plan.HourlyPrice), float64(plan.LowerBound); price > 1.1*bound || len(plan.Unplaced) > 0 || len(plan.Machines) > 420 {
		t.Errorf("costs %.2f %% more than the bound on %d machines, with %d pods unplaced", 100*(price/bound-1), len(plan.Machines), len(plan.Unplaced))
	}
}
