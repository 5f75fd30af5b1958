package decide

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// twoSizes are sold on demand in two zones.
func twoSizes() []offer.InstanceType {
	var out []offer.InstanceType
	for _, t := range []offer.InstanceType{size("large", 4, 8, 6), size("small", 2, 4, 3)} {
		t.Offerings = nil
		for i, zone := range []string{"a", "b"} {
			price := offer.Price(t.Capacity["cpu"]*100 + int64(i))
			t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: price})
		}
		out = append(out, t)
	}
	return out
}

// draw returns a number below n; the name is for reports.
type draw func(n int, name string) int

func (d draw) of(name string, choices ...string) string { return choices[d(len(choices), name)] }

// smallWorld makes up a cluster that the oracle can cope with.
func smallWorld(t testing.TB, d draw) *world {
	w := newWorld(t, twoSizes())
	w.provisioner("default", d.of("provisioner",
		"{}", "{}", "limits: {resources: {cpu: 4}}", "limits: {resources: {cpu: 6}}", wants("$zone In a"), "labels: {team: a}", "taints: [{key: hard, effect: NoSchedule}]"))
	if d(3, "second provisioner") == 0 {
		w.provisioner("other", "{"+d.of("other", "labels: {team: b}", "limits: {resources: {cpu: 2}}", wants("$zone In b"))+", "+
			d.of("besides", "weight: 5", "taints: [{key: hard, effect: NoSchedule}]")+"}")
	}
	if d(3, "daemon set") == 0 {
		w.daemonSet("ds", "{"+d.of("daemons", "requests: {cpu: 300m}", "labels: {app: x}", "ports: [{hostPort: 80}]", "nodeSelector: {$zone: a}")+", tolerations: [{operator: Exists}]}")
	}
	for i := range d(3, "nodes") {
		name := fmt.Sprintf("n%d", i)
		closed := d(5, "cordoned") == 0
		w.node(name, w.types[d(2, "type")].Name, d.of("zone", "a", "b", "c"), func(n *cluster.Node) { n.Unschedulable = closed })
		if d(2, "busy") == 0 {
			w.running("r"+name, name, "{requests: {cpu: 1200m}, "+drawRule(d)+"}")
		}
	}
	left := 4
	for i := 0; left > 0 && i < 3; i++ {
		n := 1 + d(left, "replicas")
		left -= n
		w.pods(n, fmt.Sprintf("w%d-", i), "{requests: {cpu: "+d.of("cpu", "100m", "700m", "1500m", "3")+", memory: "+d.of("memory", "100Mi", "1500Mi", "5000Mi")+"}, "+drawRule(d)+"}")
	}
	w.in.Settings.NodeCost = NoNodeCost
	return w
}

func drawRule(d draw) string {
	app := "labels: {app: " + d.of("app", "x", "z") + "}"
	return d.of("rule",
		app, app+", priority: 5", "nodeSelector: {$zone: b}", "nodeSelector: {team: a}", app+", tolerations: [{operator: Exists}]", "ports: [{hostPort: 80}]",
		spread("$zone"), spread("$zone", ", minDomains: 3"), spread("$host"), spreads("$zone", "$host"), spread("team"),
		app+", "+affine("podAntiAffinity", "$host", "x"), app+", "+affine("podAntiAffinity", "$zone", "x"),
		app+", "+affine("podAffinity", "$zone", "x"), app+", "+affine("podAffinity", "$host", "x"), app+", "+affine("podAffinity", "$host", "z"))
}

// ofPlaced is an oracle for the pods that a plan has a place for, and what these are
// worth.
func ofPlaced(t reporter, w *world, plan *Plan) (*oracle, int) {
	unplaced := map[cluster.PodKey]bool{}
	for _, u := range plan.Unplaced {
		unplaced[u.Pod] = true
	}
	o := newOracle(t, &w.in, func(p *cluster.Pod) bool { return !unplaced[p.PodKey] })
	value := 0
	for _, p := range o.pods {
		value += worthOf(p)
	}
	return o, value
}

// TestAgainstAllPlans compares plans with all others for the same pods: the scheduler
// accepts them, and the bound is never above what they have to cost.
func TestAgainstAllPlans(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := smallWorld(t, func(n int, name string) int { return rapid.IntRange(0, n-1).Draw(r, name) })
		plan := w.decide()
		verify(r, &w.in, &plan)
		placed, value := ofPlaced(r, w, &plan)
		possible, price := placed.most()
		if possible < value {
			r.Fatalf("the scheduler would not accept all of\n%s", view(plan, byType))
		}
		if plan.LowerBound > price && !weighed(&w.in) {
			r.Fatalf("the bound %d is above the optimum %d\n%s", plan.LowerBound, price, view(plan, byType))
		}
		if plan.HourlyPrice < price {
			r.Fatalf("the plan costs less than the optimum %d\n%s", price, view(plan, byType))
		}
	})
}

// weighed reports whether some Provisioner has a weight, so that plans which do without it
// are no plans, though the scheduler accepts them.
func weighed(in *Input) bool {
	return slices.ContainsFunc(in.Provisioners, func(p Provisioner) bool { return p.Spec.Spec.Weight != nil })
}

// TestAsManyAsPossibleHaveAPlace compares plans with the best for all pods. No quick
// way finds that always; the cases are the same every time.
func TestAsManyAsPossibleHaveAPlace(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := smallWorld(t, func(n int, _ string) int { return r.IntN(n) })
		plan := w.decide()
		if len(plan.Unplaced) == 0 {
			continue
		}
		_, value := ofPlaced(t, w, &plan)
		all := newOracle(t, &w.in, func(*cluster.Pod) bool { return true })
		if pod := all.further(&plan); pod != "" {
			t.Errorf("seed %d: %s could have a place besides\n%s", seed, pod, view(plan, byType))
		}
		all.inTurn = true
		if most, _ := all.most(); most > value && !hard(&w.in) {
			t.Errorf("seed %d: pods of worth %d of %d have a place in\n%s", seed, value, most, view(plan, byType))
		}
	}
}

// hard reports whether a plan need not have a place for as many pods as possible. Where
// limits leave too little, large pods may have one instead of many. Nodes that exist
// are filled first, even if a pod then is not where others could follow. Which pods
// share the one node of a group is a packing problem of its own.
func hard(in *Input) bool {
	return len(in.Snapshot.Nodes) > 0 ||
		slices.ContainsFunc(in.Provisioners, func(p Provisioner) bool { return p.Spec.Spec.Limits != nil }) ||
		slices.ContainsFunc(in.Snapshot.Pods, func(p cluster.Pod) bool {
			return slices.ContainsFunc(affinityTerms(p.Template), func(t corev1.PodAffinityTerm) bool { return t.TopologyKey == api.LabelHostname })
		})
}
