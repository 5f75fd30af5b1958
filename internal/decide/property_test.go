package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// drawWorld makes up a cluster with one or two Provisioners, nodes and pending
// workloads with a mix of constraints.
func drawWorld(t testing.TB, r *rapid.T) *world {
	types := catalogueA
	if rapid.Bool().Draw(r, "ladder") {
		types = func() []offer.InstanceType { return ladder(8) }
	}
	w := newWorld(t, types())
	spec := rapid.SampledFrom([]string{
		"{}", "limits: {resources: {cpu: 12}}", wants("$zone In a b"), wants("$capacity In on-demand"),
		"taints: [{key: soft, effect: PreferNoSchedule}]", "labels: {team: a}", "ttlSecondsUntilExpired: 30", "ttlSecondsAfterEmpty: 0",
		"requirements: [{key: node.kubernetes.io/instance-type, operator: Exists, minValues: 3}]",
		"limits: {resources: {cpu: 20}}, requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['0'], minValues: 2}, {key: $zone, operator: Exists, minValues: 2}]",
	})
	w.provisioner("default", spec.Draw(r, "provisioner"))
	if rapid.Bool().Draw(r, "second provisioner") {
		w.provisioner("other", "{weight: 10, limits: {resources: {cpu: 8}}, taints: [{key: hard, effect: NoSchedule}]}")
	}
	if rapid.Bool().Draw(r, "daemon") {
		w.daemonSet("ds", "{requests: {cpu: 100m, memory: 64Mi}, tolerations: [{operator: Exists}]}")
	}
	for i := range rapid.IntRange(0, 3).Draw(r, "nodes") {
		name := fmt.Sprintf("n%d", i)
		w.node(name, w.types[rapid.IntRange(0, len(w.types)-1).Draw(r, "type")].Name, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "zone"), drawState(r))
		if rapid.Bool().Draw(r, "busy") {
			w.running("r"+name, name, "{requests: {cpu: 300m}, "+drawConstraint(r)+"}")
		}
	}
	for i := range rapid.IntRange(1, 5).Draw(r, "workloads") {
		request := fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", rapid.IntRange(1, 40).Draw(r, "cpu")*100, rapid.IntRange(1, 30).Draw(r, "memory")*100)
		w.pods(rapid.IntRange(1, 7).Draw(r, "replicas"), fmt.Sprintf("w%d-", i), "{"+request+", "+drawConstraint(r)+"}")
	}
	return w
}

func drawState(r *rapid.T) func(*cluster.Node) {
	switch rapid.IntRange(0, 4).Draw(r, "state") {
	case 0:
		return starting
	case 1:
		return func(n *cluster.Node) { n.Deleting = true }
	}
	return nil
}

func drawConstraint(r *rapid.T) string {
	return rapid.SampledFrom([]string{
		"priority: 0", "priority: 5",
		"nodeSelector: {$zone: b}", "nodeSelector: {$arch: arm64}", requires("$capacity In spot"), "nodeSelector: {team: a}",
		"tolerations: [{operator: Exists}]", "ports: [{hostPort: 80}]",
		spread("$zone"), spread("$host"), spread("$capacity"),
		"labels: {app: x}, " + affine("podAntiAffinity", "$host", "x"),
		"labels: {app: x}, " + affine("podAntiAffinity", "$zone", "x"),
		"labels: {app: z}, " + affine("podAffinity", "$zone", "z"),
		"labels: {app: h}, " + affine("podAffinity", "$host", "h"),
		affine("podAffinity", "$host", "x"), affine("podAffinity", "$zone", "x"),
		"affinity: {nodeAffinity: {" + prefers("1 $zone In c", "9 $arch In arm64") + "}}",
	}).Draw(r, "constraint")
}

func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawWorld(t, r)
		plan := w.decide()
		verify(r, &w.in, &plan)
	})
}

func TestShuffledInputGivesTheSamePlan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawWorld(t, r)
		want := w.decide()
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		pods := slices.Clone(w.in.Snapshot.Pods)
		shuffle.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		nodes := slices.Clone(w.in.Snapshot.Nodes)
		shuffle.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		snapshot := *w.in.Snapshot
		snapshot.Pods, snapshot.Nodes = pods, nodes
		snapshot.Sort()
		again := w.in
		again.Snapshot = &snapshot
		if diff := cmp.Diff(want, Decide(again)); diff != "" {
			r.Fatalf("-want +got\n%s", diff)
		}
	})
}

// TestUselessProvisionersChangeNothing: two Provisioners whose taint no pod tolerates, one
// before the others by name and weight and one behind them. Their nodes would have more room,
// because the DaemonSet does not run there.
func TestUselessProvisionersChangeNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawWorld(t, r)
		if slices.ContainsFunc(w.in.Snapshot.Pods, func(p cluster.Pod) bool { return len(p.Template.Tolerations) > 0 }) {
			return
		}
		w.daemonSet("large", "{requests: {cpu: 500m, memory: 2Gi}, tolerations: [{key: hard}, {key: soft}]}")
		want := w.decide()
		taints := "taints: [{key: useless, effect: NoSchedule}, {key: useless, effect: PreferNoSchedule}]"
		w.provisioner("aa", "{weight: 100, "+taints+"}")
		w.provisioner("zz", "{"+taints+", requirements: [{key: node.kubernetes.io/instance-type, operator: Exists, minValues: 2}]}")
		got := w.decide()
		for _, p := range []*Plan{&want, &got} {
			for i := range p.Unplaced {
				p.Unplaced[i].Reason = "" // which speaks of all Provisioners
			}
			for i := range p.Kept {
				p.Kept[i].Why = ""
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("-want +got\n%s", diff)
		}
	})
}

func TestDecidingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := drawWorld(t, r)
		first := w.round()
		second := w.decide()
		if len(second.Removals) > 0 {
			return // an expired node that got pods in the first round is replaced now
		}
		if len(second.Machines) > 0 && len(second.Unplaced) == len(first.Unplaced) {
			r.Fatalf("bought %d machines more, for pods that had none before", len(second.Machines))
		}
		if len(second.Unplaced) > len(first.Unplaced) {
			r.Fatalf("%d pods have no place, before it was %d", len(second.Unplaced), len(first.Unplaced))
		}
	})
}

// TestAgainstBruteForce compares small cases with all ways to pack them.
func TestAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, ladder(4))
		w.provisioner("default", "{}")
		for i := range rapid.IntRange(1, 6).Draw(r, "pods") {
			cpu, memory := rapid.IntRange(1, 30).Draw(r, "cpu")*100, rapid.IntRange(1, 60).Draw(r, "memory")*100
			w.pods(1, fmt.Sprintf("p%d", i), fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", cpu, memory))
		}
		w.in.Settings.NodeCost = NoNodeCost
		plan := w.decide()
		best := bruteForce(w, 1)
		if plan.LowerBound > best {
			r.Fatalf("the bound %d is above the optimum %d", plan.LowerBound, best)
		}
		if plan.HourlyPrice < best {
			r.Fatalf("the plan costs %d, less than the optimum %d", plan.HourlyPrice, best)
		}
		if float64(plan.HourlyPrice) > 1.25*float64(best) {
			r.Fatalf("the plan costs %d, the optimum is %d", plan.HourlyPrice, best)
		}
	})
}

// TestMinValuesAgainstBruteForce: of all ways to pack small cases on machines for each of
// which three types could be bought, hardly one is cheaper, and where there is one every
// pod has a place.
func TestMinValuesAgainstBruteForce(t *testing.T) {
	const choice = 3
	rapid.Check(t, func(r *rapid.T) {
		types := []offer.InstanceType{
			size("even", 4, 8, 20), size("memory", 3, 16, 20), size("cores", 8, 6, 20), size("small", 2, 4, 20), size("large", 8, 16, 20), size("huge", 12, 32, 20),
		}
		w := newWorld(t, byName(types))
		w.provisioner("default", fmt.Sprintf("{requirements: [{key: node.kubernetes.io/instance-type, operator: Exists, minValues: %d}]}", choice))
		for i := range rapid.IntRange(1, 5).Draw(r, "pods") {
			cpu, memory := rapid.IntRange(1, 80).Draw(r, "cpu")*100, rapid.IntRange(1, 160).Draw(r, "memory")*100
			w.pods(1, fmt.Sprintf("p%d", i), fmt.Sprintf("requests: {cpu: %dm, memory: %dMi}", cpu, memory))
		}
		w.in.Settings.NodeCost = NoNodeCost
		plan, best := w.decide(), bruteForce(w, choice)
		verify(r, &w.in, &plan)
		if best == math.MaxInt64 {
			return
		}
		if len(plan.Unplaced) > 0 {
			r.Fatalf("no place: %s", plan.Unplaced[0].Reason)
		}
		if plan.LowerBound > best || plan.HourlyPrice < best || float64(plan.HourlyPrice) > 1.25*float64(best) {
			r.Fatalf("the plan costs %d, at least %d is proven, the optimum is %d", plan.HourlyPrice, plan.LowerBound, best)
		}
	})
}

// A pod gets a machine wherever there is choice enough for it, whatever the types.
func TestMinValuesLeaveNoPodWithAChoice(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var types []offer.InstanceType
		for i := range rapid.IntRange(3, 6).Draw(r, "types") {
			types = append(types, size(fmt.Sprint("t", i), rapid.Int64Range(2, 16).Draw(r, "cores"), rapid.Int64Range(2, 64).Draw(r, "GiB"), 20))
		}
		w, choice := newWorld(t, types), rapid.IntRange(2, 3).Draw(r, "choice")
		w.provisioner("default", fmt.Sprintf("{requirements: [{key: node.kubernetes.io/instance-type, operator: Exists, minValues: %d}]}", choice))
		w.pods(1, "p", fmt.Sprintf("requests: {cpu: %d, memory: %dGi}", rapid.IntRange(1, 6).Draw(r, "cpu"), rapid.IntRange(1, 24).Draw(r, "memory")))
		plan, best := w.decide(), bruteForce(w, choice)
		verify(r, &w.in, &plan)
		if placed := len(plan.Unplaced) == 0; placed != (best < math.MaxInt64) {
			r.Fatalf("placed: %v; the least price is %d", placed, best)
		}
	})
}

// bruteForce returns the least price of machines for all pods, for each of which so many
// types could be bought: each pod joins a group of earlier ones or begins a new one.
func bruteForce(w *world, choice int) offer.Price {
	var pods []*cluster.Template
	for i := range w.in.Snapshot.Pods {
		pods = append(pods, w.in.Snapshot.Pods[i].Template)
	}
	best := offer.Price(math.MaxInt64)
	var try func(i int, groups [][]*cluster.Template)
	try = func(i int, groups [][]*cluster.Template) {
		if i == len(pods) {
			total := offer.Price(0)
			for _, g := range groups {
				price, ok := cheapestFor(w.types, g, choice)
				if !ok {
					return
				}
				total += price
			}
			best = min(best, total)
			return
		}
		for k := range groups {
			before := groups[k]
			groups[k] = append(slices.Clip(before), pods[i])
			try(i+1, groups)
			groups[k] = before
		}
		try(i+1, append(slices.Clip(groups), []*cluster.Template{pods[i]}))
	}
	try(0, nil)
	return best
}

func cheapestFor(types []offer.InstanceType, pods []*cluster.Template, choice int) (offer.Price, bool) {
	best, able := offer.Price(math.MaxInt64), 0
	for i := range types {
		h := &home{room: types[i].Allocatable()}
		used := pods[0].Requests
		for _, p := range pods[1:] {
			used = used.Plus(p.Requests)
		}
		if used.Fits(h.room) {
			best, able = min(best, types[i].Offerings[0].Price), able+1
		}
	}
	return best, able >= choice
}
