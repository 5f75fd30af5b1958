package pack

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/purchase"
)

// families have 2, 4 and 8 GiB of memory for each core.
var families = []struct {
	name  string
	gib   int64
	price int64
}{{"compute", 2, 42}, {"general", 4, 48}, {"memory", 8, 63}}

// catalogue has machines of 2 to 32 cores of each family.
func catalogue() []offer.InstanceType {
	var out []offer.InstanceType
	for _, f := range families {
		for _, cores := range []int64{2, 4, 8, 16, 32} {
			out = append(out, offer.InstanceType{
				Name:      fmt.Sprintf("%s-%02d", f.name, cores),
				Labels:    map[string][]string{api.LabelInstanceFamily: {f.name}},
				Capacity:  amount.List{amount.CPU: 1000 * cores, amount.Memory: cores * f.gib << 30, amount.Pods: 110},
				Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: offer.Price(1000 * f.price * cores)}},
			})
		}
	}
	return out
}

// drawn is a problem of so many groups of pods with random needs, which change may change.
func drawn(seed uint64, groups, most int, change func(r *rand.Rand, t *cluster.Template)) *assign.Problem {
	r := rand.New(rand.NewPCG(seed, 0))
	p := &assign.Problem{Snapshot: &cluster.Snapshot{}, NodeCost: 5000}
	p.Provisioners = []assign.Provisioner{{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, Types: catalogue()}}
	for g := range groups {
		t := &cluster.Template{
			Namespace: "default", Labels: map[string]string{"app": fmt.Sprint("app-", g)},
			Requests: amount.List{amount.CPU: 100 * (1 + r.Int64N(40)), amount.Memory: (1 + r.Int64N(64)) << 28, amount.Pods: 1},
		}
		if change != nil {
			change(r, t)
		}
		for range 1 + r.IntN(most) {
			p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("pod-%05d", len(p.Pods))}, Template: t}})
		}
	}
	return p
}

func byFamily(r *rand.Rand, t *cluster.Template) {
	if i := r.IntN(5); i < len(families) {
		t.NodeSelector = map[string]string{api.LabelInstanceFamily: families[i].name}
	}
}

// apart keeps pods of an application on different nodes.
func apart(_ *rand.Rand, t *cluster.Template) {
	t.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: t.Labels},
	}}}}
}

// spend is what a plan costs, with what it costs to have nodes.
func spend(t *testing.T, p *assign.Problem, without ...assign.Heuristic) int64 {
	t.Helper()
	of := *p
	of.Without = without
	l := Solve(&of)
	sum := int64(0)
	for i := range l.Machines {
		sum += int64(l.Machines[i].Cost)
	}
	for i := range l.Places {
		if !l.Places[i].Placed() {
			t.Fatalf("pod %d has no place: %s", i, l.Places[i].Reason)
		}
	}
	return sum
}

func withNodes(p *assign.Problem, n int) *assign.Problem {
	types := p.Provisioners[0].Types
	for i := range n {
		of := types[i*7%len(types)]
		p.Snapshot.Nodes = append(p.Snapshot.Nodes, cluster.Node{
			Name: fmt.Sprintf("node-%02d", i), Provisioner: "default", Initialized: true, Ready: true,
			Labels: map[string]string{api.LabelZone: "a", corev1.LabelHostname: fmt.Sprintf("node-%02d", i)}, Allocatable: of.Capacity, Capacity: of.Capacity,
		})
	}
	return p
}

// halfApart makes half of the applications parts of one tier, of which no two pods share a node.
func halfApart(r *rand.Rand, t *cluster.Template) {
	if r.IntN(2) == 0 {
		t.Labels["tier"] = "apart"
		t.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "apart"}},
		}}}}
	}
}

// insteadOf are heuristics that make up for another one in small problems, where there is effort
// enough for both.
var insteadOf = map[assign.Heuristic][]assign.Heuristic{assign.EvenNodes: {assign.HeldNodes}}

// TestHeuristicsPay: without a heuristic the plans for a handful of problems of the kind that
// it is there for cost more together.
func TestHeuristicsPay(t *testing.T) {
	mixed := func(seed uint64) *assign.Problem { return drawn(seed, 12, 20, nil) }
	families := func(seed uint64) *assign.Problem { return drawn(seed, 15, 16, byFamily) }
	hurried := func(seed uint64) *assign.Problem {
		p := drawn(seed, 100, 60, byFamily)
		p.Trials = 6000 // so that there is no time to solve the program
		return p
	}
	for h, draw := range map[assign.Heuristic]func(seed uint64) *assign.Problem{
		assign.EvenNodes: func(seed uint64) *assign.Problem { return withNodes(mixed(seed), 6) },
		assign.HeldNodes: func(seed uint64) *assign.Problem { return withNodes(drawn(seed, 40, 12, halfApart), 6) },
		assign.Balance:   func(seed uint64) *assign.Problem { return drawn(seed, 450, 2, apart) },
		assign.Exchange:  func(seed uint64) *assign.Problem { return drawn(7000+seed, 300, 4, nil) },
		assign.Patterns:  families,
		assign.Turns:     hurried,
		assign.Search:    families,
		assign.Slots:     func(seed uint64) *assign.Problem { return drawn(seed, 40, 12, halfApart) },
	} {
		t.Run(string(h), func(t *testing.T) {
			with, without := int64(0), int64(0)
			for seed := range uint64(5) {
				p := draw(seed)
				with, without = with+spend(t, p, insteadOf[h]...), without+spend(t, p, append(insteadOf[h], h)...)
			}
			if with >= without {
				t.Errorf("the plans cost %d with it and %d without", with, without)
			}
		})
	}
}

// TestThePlanThatServesMostIsSearched makes a plan for which earlier ones have left no trials: made again, it is cheaper.
func TestThePlanThatServesMostIsSearched(t *testing.T) {
	p := newPlanning(drawn(7, 80, 20, byFamily))
	p.trials = purchase.NewTrials(len(p.problem.Pods), 1)
	rough := p.solved(variant{uneven: true})
	if got := p.searched(rough); got.cost() >= rough.cost() || !got.made.uneven {
		t.Errorf("costs %d, and %d without a search", got.cost(), rough.cost())
	}
}

// TestPodsAreExchangedWithNodes: a node is filled with the largest pod before it is known what
// is to be bought. It then takes the pod that needs the more expensive machine.
func TestPodsAreExchangedWithNodes(t *testing.T) {
	zone := func(t *cluster.Template) {
		t.Spread = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: api.LabelZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: t.Labels},
		}}
	}
	for name, change := range map[string]func(*cluster.Template){
		"no constraint":  func(*cluster.Template) {},
		"spread by zone": zone,
		"apart":          func(t *cluster.Template) { apart(nil, t) },
	} {
		t.Run(name, func(t *testing.T) {
			p := withNodes(drawn(0, 1, 1, nil), 1)
			p.Pods, p.Snapshot.Nodes[0].Allocatable = nil, amount.List{amount.CPU: 4000, amount.Memory: 26 << 30, amount.Pods: 100}
			for kind, k := range []struct{ n, cpu, gib int64 }{{1, 2000, 24}, {1, 3600, 1}} {
				of := &cluster.Template{
					Namespace: "default", Labels: map[string]string{"app": fmt.Sprint("app-", kind)},
					Requests: amount.List{amount.CPU: k.cpu, amount.Memory: k.gib << 30, amount.Pods: 1},
				}
				change(of)
				for range k.n {
					p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("pod-%05d", len(p.Pods))}, Template: of}})
				}
			}
			with, without := spend(t, p), spend(t, p, assign.HeldNodes, assign.EvenNodes)
			if with >= without {
				t.Errorf("the plan costs %d, and %d without exchange", with, without)
			}
		})
	}
}

// TestNodesAreFilledWithPodsOfFewKinds: what a node holds and what machines hold is chosen
// together, though there are only some pods of each kind, and those of one kind must be apart.
func TestNodesAreFilledWithPodsOfFewKinds(t *testing.T) {
	p := withNodes(drawn(0, 1, 1, nil), 1)
	p.Pods = nil
	p.Snapshot.Nodes[0].Allocatable = amount.List{amount.CPU: 64_000, amount.Memory: 512 << 30, amount.Pods: 500}
	for kind, k := range []struct{ n, cpu, gib int64 }{{40, 250, 16}, {64, 2000, 1}, {40, 1000, 1}, {30, 400, 8}, {30, 500, 9}} {
		of := &cluster.Template{
			Namespace: "default", Labels: map[string]string{"app": fmt.Sprint("app-", kind)},
			Requests: amount.List{amount.CPU: k.cpu, amount.Memory: k.gib << 30, amount.Pods: 1},
		}
		if kind == 0 {
			apart(nil, of)
		}
		for range k.n {
			p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprintf("pod-%05d", len(p.Pods))}, Template: of}})
		}
	}
	// Filled by memory first, the node leaves machines for 9.9 million to be bought.
	if cost := spend(t, p); cost > 9_700_000 {
		t.Errorf("the plan costs %d", cost)
	}
}

// TestLimitsGoWhereTheySaveMost: a cheap Provisioner with a limit on cores serves the pods that
// cost most for each core elsewhere. The linear program over patterns knows what a core of the
// limit is worth; without it six problems cost 0.8 % more.
func TestLimitsGoWhereTheySaveMost(t *testing.T) {
	with, without := int64(0), int64(0)
	for seed := range uint64(6) {
		p := drawn(seed+1, 20, 20, byFamily)
		cheap := assign.Provisioner{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "cheap"}}, Types: catalogue()}
		cheap.Spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("150")}}
		for i := range cheap.Types {
			cheap.Types[i].Offerings[0].Price /= 3
		}
		p.Provisioners = append(p.Provisioners, cheap)
		with, without = with+spend(t, p), without+spend(t, p, assign.Patterns)
	}
	if float64(with) > 0.994*float64(without) {
		t.Errorf("the plans cost %d with the program and %d without", with, without)
	}
}

// TestEqualBuysAhead: where more of the same pods are likely to come, room for them is bought.
func TestEqualBuysAhead(t *testing.T) {
	ahead := func(without ...assign.Heuristic) int {
		p := drawn(0, 1, 1, func(_ *rand.Rand, t *cluster.Template) {
			t.Requests = amount.List{amount.CPU: 900, amount.Memory: 1 << 30, amount.Pods: 1}
		})
		for i := range 6 {
			p.Pods = append(p.Pods, assign.Demand{Pod: &cluster.Pod{PodKey: cluster.PodKey{Namespace: "default", Name: fmt.Sprint("pod-z", i)}, Template: p.Pods[0].Pod.Template}})
		}
		for i := range p.Pods {
			p.Pods[i].Growing = true
		}
		p.Without = without
		n := 0
		for _, m := range Solve(p).Machines {
			n += m.Ahead
		}
		return n
	}
	if got := ahead(); got == 0 {
		t.Error("no room is bought for pods to come")
	}
	if got := ahead(assign.Equal); got != 0 {
		t.Errorf("without it there is room for %d pods to come", got)
	}
}

// TestPodsMakeRoom: pods leave the only node that others may be on for a node that only they may
// be on.
func TestPodsMakeRoom(t *testing.T) {
	p := drawn(1, 2, 1, func(_ *rand.Rand, t *cluster.Template) {
		t.Requests = amount.List{amount.CPU: 1000, amount.Memory: 6 << 30, amount.Pods: 1}
		if t.Labels["app"] == "app-1" {
			t.Requests[amount.Memory] = 4 << 30 // so that it comes second
			t.NodeSelector = map[string]string{api.LabelInstanceFamily: "compute"}
		}
	})
	withNodes(p, 2)
	for i, family := range []string{"compute", "memory"} {
		p.Snapshot.Nodes[i].Labels[api.LabelInstanceFamily] = family
		p.Snapshot.Nodes[i].Allocatable = amount.List{amount.CPU: 2000, amount.Memory: 8 << 30, amount.Pods: 110}
	}
	if got := spend(t, p); got != 0 {
		t.Errorf("machines are bought for %d, although both pods can be on nodes", got)
	}
}
