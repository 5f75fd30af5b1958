package pack

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign/assigntest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestMostPodsUnderALimit: where a limit binds, those of the highest priority get a
// place, and of equal priority as many as can.
func TestMostPodsUnderALimit(t *testing.T) {
	for name, c := range map[string]struct {
		cores  int64
		groups []assigntest.PodsOf
		want   []int // pods with a place, by group
	}{
		"small ones first":              {10, []assigntest.PodsOf{{N: 10, CPU: 1000}, {N: 10, CPU: 3000}}, []int{10, 0}},
		"what is left for larger ones":  {12, []assigntest.PodsOf{{N: 4, CPU: 1000}, {N: 10, CPU: 3000}}, []int{4, 2}},
		"important ones before all":     {10, []assigntest.PodsOf{{N: 10, CPU: 1000}, {N: 10, CPU: 3000, Priority: 5}}, []int{4, 2}},
		"all of them where they do fit": {8, []assigntest.PodsOf{{N: 5, CPU: 1000}, {N: 1, CPU: 3000}}, []int{5, 1}},
		"one kind":                      {6, []assigntest.PodsOf{{N: 10, CPU: 1000}}, []int{6}},
	} {
		t.Run(name, func(t *testing.T) {
			p := assigntest.LimitedTo(c.cores, c.groups...)
			got, capacity := make([]int, len(c.groups)), int64(0)
			layout := Solve(p)
			at := 0
			for g, group := range c.groups {
				for range group.N {
					if layout.Places[at].Placed() {
						got[g]++
					}
					at++
				}
			}
			for i := range layout.Machines {
				capacity += layout.Machines[i].Allocatable[amount.CPU]
			}
			if !reflect.DeepEqual(got, c.want) || capacity > c.cores*1000 {
				t.Errorf("placed %v on %d of %d cores, want %v", got, capacity/1000, c.cores, c.want)
			}
		})
	}
}

// TestLimitsThatDoNotBindChangeNothing: a limit that the plan without it keeps gives
// that plan.
func TestLimitsThatDoNotBindChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var groups []assigntest.PodsOf
		for range rapid.IntRange(1, 6).Draw(t, "groups") {
			groups = append(groups, assigntest.PodsOf{
				N: rapid.IntRange(1, 60).Draw(t, "pods"), CPU: 100 * rapid.Int64Range(1, 40).Draw(t, "cpu"),
				Priority: rapid.Int32Range(0, 1).Draw(t, "priority"),
			})
		}
		free := Solve(assigntest.LimitedTo(0, groups...))
		// Room for the largest type on top of any that is planned: no candidate is lost.
		cores := 16 * int64(len(free.Machines))
		got := Solve(assigntest.LimitedTo(cores, groups...))
		if !reflect.DeepEqual(free.Places, got.Places) || !reflect.DeepEqual(free.Machines, got.Machines) || free.LowerBound() != got.LowerBound() {
			t.Fatalf("a limit of %d cores changed the plan from %d to %d machines", cores, len(free.Machines), len(got.Machines))
		}
	})
}

// TestLimitsBeyondAllAmountsAreNone: a limit that no cluster reaches rules out no machine that may
// be bought instead of a planned one, even if as many of those would have as much together.
func TestLimitsBeyondAllAmountsAreNone(t *testing.T) {
	p := func() *assign.Problem {
		p := assigntest.LimitedTo(0, assigntest.PodsOf{N: 300, CPU: 1000})
		p.Provisioners[0].Types = nil
		for i, bytes := range []int64{1 << 32, 1 << 45} {
			p.Provisioners[0].Types = append(p.Provisioners[0].Types, offer.InstanceType{
				Name: fmt.Sprint("type-", i), Capacity: amount.List{amount.CPU: 1000, amount.Memory: bytes, amount.Pods: 110},
				Offerings: []offer.Offering{{Zone: "one", CapacityType: api.CapacityOnDemand, Price: offer.Price(1000 + i)}},
			})
		}
		return p
	}
	limited := p()
	limited.Provisioners[0].Spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Ei")}}
	got, want := Solve(limited), Solve(p())
	if len(want.Machines) != 300 || len(want.Machines[0].Candidates) != 2 || !reflect.DeepEqual(got.Machines, want.Machines) {
		t.Errorf("%d machines with %d types to choose from, want 300 with 2", len(got.Machines), len(got.Machines[0].Candidates))
	}
}

// TestLimitsOfOtherProvisionersHold: the first plan breaks all limits of one Provisioner, and the next one buys nothing of
// another whose limits allow no machine. A later plan, which would serve more pods, must not either.
func TestLimitsOfOtherProvisionersHold(t *testing.T) {
	p := assigntest.LimitedTo(0, assigntest.PodsOf{N: 4, CPU: 2500}, assigntest.PodsOf{N: 1, CPU: 2500, Priority: 1})
	p.Pods[0].Pod.Template.NodeSelector = map[string]string{api.LabelProvisioner: "default"}
	p.Pods[4].Pod.Template.NodeSelector = map[string]string{api.LabelZone: "one"}
	other := p.Provisioners[0]
	other.Spec = &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	other.Types = slices.Clone(other.Types)
	for i := range other.Types {
		t := &other.Types[i]
		t.Offerings = slices.Clone(t.Offerings)
		for j := range t.Offerings {
			t.Offerings[j].Price *= 2
		}
	}
	p.Provisioners = append(p.Provisioners, other)
	limit := func(cores, bytes, pods int64) *api.Limits {
		return &api.Limits{Resources: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(bytes, resource.BinarySI),
			corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
		}}
	}
	p.Provisioners[0].Spec.Spec.Limits, p.Provisioners[1].Spec.Spec.Limits = limit(6, 1, 40), limit(2, 1, 20)
	layout := Solve(p)
	for i := range layout.Machines {
		if m := &layout.Machines[i]; m.Provisioner == 1 {
			t.Errorf("a machine with %d millicores is bought with a limit of 2 cores", m.Allocatable[amount.CPU])
		}
	}
	if len(layout.Machines) != 1 {
		t.Errorf("%d machines are bought, want 1", len(layout.Machines))
	}
}

// TestLimitOfAHigherWeight: what a limit of a Provisioner that is tried first does not
// allow is for the next one, so that it is filled as well as it can be, not with as many
// pods as it can.
func TestLimitOfAHigherWeight(t *testing.T) {
	p := assigntest.LimitedTo(16, assigntest.PodsOf{N: 10, CPU: 1000}, assigntest.PodsOf{N: 4, CPU: 4000})
	weight := int32(10)
	p.Provisioners[0].Spec.Spec.Weight = &weight
	next := p.Provisioners[0]
	next.Spec = &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "next"}}
	p.Provisioners = append(p.Provisioners, next)
	for i, place := range Solve(p).Places {
		if !place.Placed() {
			t.Fatalf("pod %d has no place", i)
		}
	}
	layout, cores := Solve(p), int64(0)
	for i := range layout.Machines {
		if m := &layout.Machines[i]; m.Provisioner == 0 {
			cores += m.Used[amount.CPU] / 1000
		}
	}
	if cores != 16 {
		t.Errorf("pods use %d of the 16 cores that are to be used first", cores)
	}
}

// TestMachinesThatUseALimitBest: under a limit on cores, the machines that hold most pods for the
// cores that they count are bought, and not those that hold them for the least price.
func TestMachinesThatUseALimitBest(t *testing.T) {
	p := assigntest.LimitedTo(33, assigntest.PodsOf{N: 64, CPU: 1000})
	var types []offer.InstanceType
	for _, cores := range []int64{8, 32, 64} { // of which the system takes one
		types = append(types, offer.InstanceType{
			Name: fmt.Sprint("cores-", cores), Capacity: amount.List{amount.CPU: cores * 1000, amount.Memory: cores << 32, amount.Pods: 110},
			Overhead:  amount.List{amount.CPU: 1000},
			Offerings: []offer.Offering{{Zone: "one", CapacityType: api.CapacityOnDemand, Price: offer.Price(100 * cores * (cores + 40))}},
		})
	}
	p.Provisioners[0].Types = types
	placed := 0
	for _, place := range Solve(p).Places {
		if place.Placed() {
			placed++
		}
	}
	if placed != 31 {
		t.Errorf("%d pods have a place within 33 cores, want 31", placed)
	}
}

// TestSpreadPodsUnderALimit: pods that are spread over two zones have as many places as a limit
// allows if they are divided evenly.
func TestSpreadPodsUnderALimit(t *testing.T) {
	cores := func(pods int64) int64 { return 8*(pods/3) + []int64{0, 4, 8}[pods%3] } // in one zone
	for limit := int64(4); limit <= 80; limit += 2 {
		p := assigntest.LimitedTo(limit, assigntest.PodsOf{N: 100, CPU: 2600})
		app := p.Pods[0].Pod.Template
		app.Labels = map[string]string{"app": "web"}
		app.Spread = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: api.LabelZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: app.Labels},
		}}
		placed, want := 0, 0
		for _, place := range Solve(p).Places {
			if place.Placed() {
				placed++
			}
		}
		for n := int64(0); cores(n/2)+cores(n-n/2) <= limit; n++ {
			want = int(n)
		}
		if placed != want {
			t.Errorf("%d pods have a place within %d cores, want %d", placed, limit, want)
		}
	}
}

// TestFollowersBeforeThoseThatTheyFollow: important pods that must share a node with a less
// important one are bought for together with it where a limit does not allow all.
func TestFollowersBeforeThoseThatTheyFollow(t *testing.T) {
	p := assigntest.LimitedTo(4, assigntest.PodsOf{N: 2, CPU: 2000, Priority: 5}, assigntest.PodsOf{N: 4, CPU: 1000})
	followed := map[string]string{"app": "followed"}
	p.Pods[2].Pod.Template.Labels = followed // which all that are less important share
	p.Pods[0].Pod.Template.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: api.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: followed},
		}},
	}}
	l := Solve(p)
	var important, others int
	for i := range l.Places {
		switch {
		case !l.Places[i].Placed():
		case i < 2:
			important++
		default:
			others++
		}
	}
	if important != 1 || others != 2 {
		t.Errorf("placed %d important pods and %d others, want 1 and 2", important, others)
	}
}

// TestPurchasesUnderALimitAreSearched: what a limit lets be bought is not the first that was
// found: the same pods have places on cheaper machines.
func TestPurchasesUnderALimitAreSearched(t *testing.T) {
	saved := 0
	for size := range int64(8) {
		var price [2]offer.Price
		var placed [2]int
		for i, without := range [][]assign.Heuristic{nil, {assign.Search}} {
			p := assigntest.LimitedTo(60, assigntest.PodsOf{N: 23, CPU: 500 + 10*size}, assigntest.PodsOf{N: 19, CPU: 1100 + 7*size}, assigntest.PodsOf{N: 17, CPU: 1700 - 9*size}, assigntest.PodsOf{N: 9, CPU: 2900 + 11*size})
			p.Without = without
			for k := range p.Provisioners[0].Types {
				o := p.Provisioners[0].Types[k].Offerings
				for j := range o {
					o[j].Price += offer.Price(300 * k) // so that large machines cost more for a core
				}
			}
			l := Solve(p)
			for m := range l.Machines {
				price[i] += l.Machines[m].Candidates[0].Price
			}
			for k := range l.Places {
				if l.Places[k].Placed() {
					placed[i]++
				}
			}
		}
		if placed[0] < placed[1] {
			t.Fatalf("size %d: %d pods have places with the search and %d without", size, placed[0], placed[1])
		}
		if placed[0] == placed[1] && price[0] > price[1] {
			t.Fatalf("size %d: %v with the search and %v without", size, price[0], price[1])
		}
		if placed[0] == placed[1] && placed[0] < 68 && price[0] < price[1] {
			saved++
		}
	}
	if saved == 0 {
		t.Error("the search saves nothing under a limit")
	}
}

// TestAPassThatALimitRepeatsTakesNoEffort: a Provisioner of a lower weight that is beyond its limit makes the plan be
// made once more. What is bought from others does not cost more because of that.
func TestAPassThatALimitRepeatsTakesNoEffort(t *testing.T) {
	for seed := range uint64(6) {
		p := drawn(seed, 30, 3, byFamily)
		p.Trials = 6000
		want, weight := spend(t, p), int32(10)
		p.Provisioners[0].Spec.Spec.Weight = &weight
		small := assign.Provisioner{Spec: &api.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "small"}}, Types: catalogue()[:1]}
		small.Spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
		small.Types[0].Name, small.Types[0].Labels = "special", map[string][]string{api.LabelInstanceFamily: {"special"}}
		p.Provisioners = append(p.Provisioners, small)
		pod := *p.Pods[0].Pod
		pod.Name, pod.Template = "special", &cluster.Template{Namespace: "default", NodeSelector: map[string]string{api.LabelInstanceFamily: "special"}, Requests: amount.List{amount.CPU: 100, amount.Pods: 1}}
		p.Pods = append(p.Pods, assign.Demand{Pod: &pod})
		got, l := int64(0), Solve(p)
		for i := range l.Machines {
			got += int64(l.Machines[i].Cost)
		}
		if last := l.Places[len(l.Places)-1]; last.Placed() || got != want {
			t.Errorf("seed %d: the others cost %d, want %d; the pod beyond the limit has a place: %t", seed, got, want, last.Placed())
		}
	}
}
