package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestBoundKnowsRoomOnGPUMachines: pods without GPUs use room on a machine that is bought for a
// pod with GPUs, and no bound is above the price of such a plan.
func TestBoundKnowsRoomOnGPUMachines(t *testing.T) {
	w := newWorld(t, realTypes(t))
	w.provisioner("default", "requirements: [{key: $capacity, operator: In, values: [on-demand]}, {key: $type, operator: In, values: [g4dn.12xlarge, m5.2xlarge, m5.8xlarge]}]")
	w.pods(1, "train", "{requests: {cpu: 1}, limits: {nvidia.com/gpu: 4}}")
	w.pods(28, "web", "requests: {cpu: 1, memory: 500Mi}")
	plan := w.decide()
	verify(t, &w.in, &plan)
	if len(plan.Unplaced) > 0 || len(plan.Machines) != 1 || plan.LowerBound != plan.HourlyPrice {
		t.Errorf("%d machines for $%.4f, the bound is $%.4f, %d pods unplaced", len(plan.Machines), float64(plan.HourlyPrice)/1e6, float64(plan.LowerBound)/1e6, len(plan.Unplaced))
	}
}

// TestBoundKnowsConstraints: the bound knows the constraints that make plans expensive,
// so that the plans for a few pods come within a few percent of it.
func TestBoundKnowsConstraints(t *testing.T) {
	const memory = "requirements: [{key: $capacity, operator: In, values: [on-demand]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [r]}, {key: kubernetes.io/arch, operator: In, values: [amd64]}]"
	together := func(key, app string) string {
		return "labels: {app: " + app + "}, affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: " + key + ", labelSelector: {matchLabels: {app: " + app + "}}}]}}"
	}
	nodes := func(w *world) {
		for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
			w.node("in-"+zone, "m7g.xlarge", zone, func(*cluster.Node) {})
		}
	}
	for name, add := range map[string]func(w *world){
		"weights": func(w *world) {
			w.provisioner("first", "weight: 10, "+memory)
			w.pods(12, "p", "requests: {cpu: 1500m, memory: 1Gi}")
		},
		"room that lower weights leave": func(w *world) {
			w.provisioner("first", "weight: 10, "+memory)
			w.pods(8, "p", "{requests: {cpu: 1100m, memory: 1Gi}, ports: [{hostPort: 80}], nodeSelector: {karpenter.k8s.aws/instance-category: m}}")
			w.pods(40, "q", "requests: {cpu: 700m, memory: 1Gi}")
		},
		"a limit that binds": func(w *world) {
			w.provisioner("first", "weight: 10, limits: {resources: {cpu: 16}}, "+memory)
			w.pods(24, "p", "requests: {cpu: 1900m, memory: 1Gi}")
		},
		"nodes that exist": func(w *world) {
			nodes(w)
			w.pods(12, "p", "requests: {cpu: 1500m, memory: 1Gi}")
		},
		"pods that share a node": func(w *world) {
			w.pods(7, "p", "{requests: {cpu: 1900m, memory: 1Gi}, "+together("$host", "a")+"}")
		},
		"pods that share a zone": func(w *world) {
			nodes(w)
			w.pods(10, "p", "{requests: {cpu: 1900m, memory: 1Gi}, "+together("$zone", "a")+"}")
		},
		"ports of several deployments": func(w *world) {
			w.pods(4, "p", "{requests: {cpu: 100m, memory: 1Gi}, ports: [{hostPort: 80}]}")
			w.pods(4, "q", "{requests: {cpu: 200m, memory: 1Gi}, ports: [{hostPort: 80}]}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, realTypes(t))
			usual(w, onDemand)
			add(w)
			plan := w.decide()
			verify(t, &w.in, &plan)
			if price, bound := float64(plan.HourlyPrice), float64(plan.LowerBound); price == 0 || price > 1.05*bound || len(plan.Unplaced) > 0 {
				t.Errorf("costs %.4f, the bound is %.4f, %d pods unplaced", price/1e6, bound/1e6, len(plan.Unplaced))
			}
		})
	}
}

// TestProofChangesNothingElse: the plan is the same for those who do not ask for the bound.
func TestProofChangesNothingElse(t *testing.T) {
	w := newWorld(t, realTypes(t))
	usual(w, "limits: {resources: {cpu: 100}}, "+onDemand)
	w.pods(40, "p", "requests: {cpu: 1900m, memory: 1Gi}")
	w.pods(30, "q", "requests: {cpu: 300m, memory: 5Gi}")
	proven := w.decide()
	w.in.Prove = false
	plain := w.decide()
	if plain.LowerBound != 0 || proven.LowerBound == 0 {
		t.Errorf("a bound of %d where nobody asks, and of %d", plain.LowerBound, proven.LowerBound)
	}
	proven.LowerBound = 0
	if diff := cmp.Diff(proven, plain); diff != "" {
		t.Errorf("-asked +not asked\n%s", diff)
	}
}

// TestBoundKnowsAllTerms: a plan may use any of a pod's node selector terms, so that the bound is
// the price of the cheapest, whichever of them the plan at hand has used.
func TestBoundKnowsAllTerms(t *testing.T) {
	for name, terms := range map[string]string{
		"the dear one first":  requires("$zone In a", "OR", "$zone In b"),
		"the cheap one first": requires("$zone In b", "OR", "$zone In a"),
		"one without meaning": requires("$zone In a", "$zone In c", "OR", "$zone In a", "OR", "$zone In b"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []offer.InstanceType{zonal(size("std", 4, 4, 5), map[string]int64{"a": 30, "b": 10})})
			w.provisioner("default", "{}")
			w.pods(1, "p", "{requests: {cpu: 3}, "+terms+"}")
			plan := w.decide()
			verify(t, &w.in, &plan)
			if want := offer.Price(100_000); plan.LowerBound != want || len(plan.Machines) != 1 {
				t.Errorf("%d machines, and a bound of %d; want 1, and %d", len(plan.Machines), plan.LowerBound, want)
			}
		})
	}
}

// TestBoundLeavesWeightsOpen: pods that may choose their domain or node selector term may choose one in
// which only a Provisioner of lower weight sells, so that the bound is not above the plan in which they do.
func TestBoundLeavesWeightsOpen(t *testing.T) {
	spread := "labels: {app: p}, topologySpreadConstraints: [{maxSkew: 3, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: p}}}]"
	for name, c := range map[string]struct {
		pods    int
		spec    string
		another offer.Price
	}{
		"node selector terms": {1, requires("$zone In a", "OR", "$zone In b"), 100_000},
		"zones of a spread":   {4, spread, 300_000 + 3*100_000},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, []offer.InstanceType{zonal(size("std", 4, 4, 5), map[string]int64{"a": 30, "b": 10})})
			w.provisioner("high", "weight: 10, requirements: [{key: $zone, operator: In, values: [a]}]")
			w.provisioner("low", "requirements: [{key: $zone, operator: In, values: [b]}]")
			w.pods(c.pods, "p", "{requests: {cpu: 3}, "+c.spec+"}")
			plan := w.decide()
			verify(t, &w.in, &plan)
			if plan.LowerBound > c.another || plan.LowerBound == 0 || len(plan.Unplaced) > 0 {
				t.Errorf("the bound is %d, the plan costs %d, and another one %d", plan.LowerBound, plan.HourlyPrice, c.another)
			}
		})
	}
}

// TestBoundKnowsWhichPodsLowerWeightsAreFor: what lower weights sell in the zones that only they sell in is for
// pods that are there, and pays for no machine in another zone.
func TestBoundKnowsWhichPodsLowerWeightsAreFor(t *testing.T) {
	w := newWorld(t, []offer.InstanceType{size("dear", 4, 4, 5), zonal(size("std", 4, 4, 5), map[string]int64{"a": 10, "b": 10, "c": 10})})
	w.types[0] = zonal(w.types[0], map[string]int64{"a": 30, "b": 30})
	w.provisioner("high", "weight: 10, requirements: [{key: $type, operator: In, values: [dear]}]")
	w.provisioner("low", "{}")
	w.pods(12, "p", "{requests: {cpu: 3}, labels: {app: p}, topologySpreadConstraints: [{maxSkew: 1, topologyKey: $zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: p}}}]}")
	plan := w.decide()
	verify(t, &w.in, &plan)
	if want := offer.Price(8*300_000 + 4*100_000); plan.HourlyPrice != want || plan.LowerBound < want*995/1000 || plan.LowerBound > want {
		t.Errorf("the plan costs %d, want %d, and the bound is %d", plan.HourlyPrice, want, plan.LowerBound)
	}
}

// TestBoundIsBelowPlansWithWeights: what is bought for pods of lower weights is not always what is the cheapest for
// each class alone, and the room that it leaves is for pods of higher weights.
func TestBoundIsBelowPlansWithWeights(t *testing.T) {
	dear := zonal(size("dear", 4, 8, 9), map[string]int64{"c": 1000})
	for name, c := range map[string]struct {
		types []offer.InstanceType
		pods  func(w *world)
	}{
		"fewer nodes cost less": {
			[]offer.InstanceType{zonal(size("small", 2, 4, 9), map[string]int64{"a": 10}), zonal(size("big", 17, 40, 40), map[string]int64{"a": 81})},
			func(w *world) { w.pods(8, "l", "{requests: {cpu: 1}, nodeSelector: {$zone: a}}") },
		},
		"the second node selector term is cheaper": {
			[]offer.InstanceType{zonal(size("big", 17, 40, 40), map[string]int64{"a": 100}), zonal(size("small", 2, 4, 9), map[string]int64{"b": 10})},
			func(w *world) { w.pods(1, "l", "{requests: {cpu: 1}, "+requires("$zone In a", "OR", "$zone In b")+"}") },
		},
		"pods that must share a machine": {
			[]offer.InstanceType{zonal(size("small", 2, 4, 9), map[string]int64{"a": 20}), zonal(size("big", 33, 40, 40), map[string]int64{"a": 200}), zonal(size("other", 17, 40, 40), map[string]int64{"b": 10})},
			func(w *world) {
				w.pods(1, "l", "{requests: {cpu: 1}, labels: {app: l}, nodeSelector: {$zone: a}}")
				w.pods(14, "f", "{requests: {cpu: 1}, "+requires("$zone In a, b")+", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: $host, labelSelector: {matchLabels: {app: l}}}]}}}")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(c.types, dear))
			w.provisioner("high", "weight: 10, requirements: [{key: $zone, operator: In, values: [c]}]")
			w.provisioner("low", "requirements: [{key: $zone, operator: In, values: [a, b]}]")
			c.pods(w)
			w.pods(8, "h", "requests: {cpu: 1}")
			plan := w.decide()
			if plan.LowerBound > plan.HourlyPrice || plan.LowerBound == 0 || len(plan.Unplaced) > 0 {
				t.Errorf("the bound is %d, and the plan costs %d; %d pods unplaced", plan.LowerBound, plan.HourlyPrice, len(plan.Unplaced))
			}
		})
	}
}
