package bound

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func machine(name string, cpu, memory int64, price offer.Price) offer.InstanceType {
	return offer.InstanceType{
		Name: name,
		Labels: map[string][]string{
			corev1.LabelInstanceTypeStable: {name}, corev1.LabelArchStable: {"amd64"}, corev1.LabelOSStable: {"linux"},
		},
		Capacity:  amount.List{amount.CPU: cpu, amount.Memory: memory << 20, amount.Pods: 20},
		Offerings: []offer.Offering{{Zone: "a", CapacityType: "on-demand", Price: price}},
	}
}

func pod(n int, cpu, memory int64) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%04d", n), Namespace: "default", UID: types.UID(fmt.Sprint(n))},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
		}}}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// small draws a task of a few kinds of pods and a few types that hold them all.
func small(t *rapid.T, most int) *workload.Workload {
	w := &workload.Workload{}
	for range rapid.IntRange(1, 3).Draw(t, "kinds") {
		cpu, memory := rapid.Int64Range(100, 4000).Draw(t, "cpu"), rapid.Int64Range(100, 8000).Draw(t, "memory")
		for range rapid.IntRange(1, most).Draw(t, "count") {
			w.Pods = append(w.Pods, pod(len(w.Pods), cpu, memory))
		}
	}
	w.Types = append(w.Types, machine("a-large", 9000, 18_000, offer.Price(rapid.Int64Range(50_000, 900_000).Draw(t, "price"))))
	for i := range rapid.IntRange(0, 3).Draw(t, "types") {
		w.Types = append(w.Types, machine(fmt.Sprintf("b-%d", i), rapid.Int64Range(500, 8000).Draw(t, "cores"),
			rapid.Int64Range(500, 16_000).Draw(t, "mebibytes"), offer.Price(rapid.Int64Range(10_000, 900_000).Draw(t, "price"))))
	}
	return w
}

func plan(t *rapid.T, w *workload.Workload) *decide.Plan {
	in := ours.Input(w, 0)
	in.Prove = true
	p := decide.Decide(in)
	if len(p.Unplaced) > 0 {
		t.Fatalf("%d pods have no place: %s", len(p.Unplaced), p.Unplaced[0].Reason)
	}
	c, err := ours.Plan(w, &p)
	if err != nil {
		t.Fatal(err)
	}
	if faults := check.Faults(w, &c); len(faults) > 0 {
		t.Fatal(faults)
	}
	return &p
}

// slack compares prices in dollars, of which a millionth is a micro-dollar.
const slack = 1e-6

// TestBoundIsBelowTheOptimum: however the core proves its bound, the optimum found
// by trying everything is not below it, nor is the price below the optimum.
func TestBoundIsBelowTheOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := small(t, 4)
		p := plan(t, w)
		best := Optimum(w.Types, Kinds(w.Pods))
		if p.LowerBound > best || p.HourlyPrice < best {
			t.Errorf("bound %d, optimum %d, price %d", p.LowerBound, best, p.HourlyPrice)
		}
	})
}

// TestBoundIsBelowThePatterns: the linear relaxation over all contents of machines
// is what bounds by prices of resources and of pods come up to at best. The core
// knows besides that no plan is cheaper than the dearest single pod.
func TestBoundIsBelowThePatterns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := small(t, 40)
		p := plan(t, w)
		kinds := Kinds(w.Pods)
		relaxed, rounded, err := Patterns(w.Types, kinds)
		if err != nil {
			t.Fatal(err)
		}
		if bound := p.LowerBound.Dollars(); bound > max(relaxed, dearest(w.Types, kinds).Dollars())+slack {
			t.Errorf("bound %.6f, relaxation %.6f, dearest pod %.6f", bound, relaxed, dearest(w.Types, kinds).Dollars())
		}
		if p.LowerBound.Dollars() > rounded+slack {
			t.Errorf("bound %.6f is above a plan of %.6f", p.LowerBound.Dollars(), rounded)
		}
	})
}

// dearest is the most that one pod of any kind costs alone.
func dearest(list []offer.InstanceType, kinds []Kind) offer.Price {
	most := offer.Price(0)
	for _, k := range kinds {
		most = max(most, Optimum(list, []Kind{{Need: k.Need, Count: 1}}))
	}
	return most
}

// TestRelaxationsAreInOrder checks this package against itself: the fewer things a
// bound looks at, the lower it is.
func TestRelaxationsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := small(t, 4)
		kinds := Kinds(w.Pods)
		resources, err := Resources(w)
		if err != nil {
			t.Fatal(err)
		}
		relaxed, rounded, err := Patterns(w.Types, kinds)
		if err != nil {
			t.Fatal(err)
		}
		best := Optimum(w.Types, kinds).Dollars()
		if resources > relaxed+slack || relaxed > best+slack || best > rounded+slack {
			t.Errorf("resources %.6f, patterns %.6f, optimum %.6f, rounded %.6f", resources, relaxed, best, rounded)
		}
	})
}

func TestKnownBounds(t *testing.T) {
	types := []offer.InstanceType{machine("one", 1000, 1000, 100_000), machine("two", 2000, 2000, 150_000)}
	w := &workload.Workload{Types: types}
	for n := range 3 {
		w.Pods = append(w.Pods, pod(n, 1000, 500))
	}
	kinds := Kinds(w.Pods)
	if len(kinds) != 1 || kinds[0].Count != 3 {
		t.Fatalf("got the kinds %v", kinds)
	}
	resources, err := Resources(w)
	if err != nil {
		t.Fatal(err)
	}
	relaxed, rounded, err := Patterns(types, kinds)
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]struct{ got, want float64 }{
		"resources: one and a half of type two": {resources, 0.225},
		"patterns: the same":                    {relaxed, 0.225},
		"rounded: two of type two":              {rounded, 0.3},
		"optimum: one of each":                  {Optimum(types, kinds).Dollars(), 0.25},
	} {
		if math.Abs(v.got-v.want) > slack {
			t.Errorf("%s: got %.6f, want %.6f", name, v.got, v.want)
		}
	}
}

// TestRepulsionCounts: pods that keep apart need a machine each.
func TestRepulsionCounts(t *testing.T) {
	w := &workload.Workload{Types: []offer.InstanceType{machine("large", 8000, 16_000, 100_000)}}
	for n := range 5 {
		p := pod(n, 100, 100)
		p.Labels = map[string]string{"app": "a"}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
			}},
		}}
		w.Pods = append(w.Pods, p)
	}
	got, err := Resources(w)
	if err != nil || math.Abs(got-0.5) > slack {
		t.Errorf("got %.6f, %v; want 0.5", got, err)
	}
	w.Pods[0].Labels = map[string]string{"app": "b"} // repels the others and not its like
	if got, err = Resources(w); err != nil || math.Abs(got-0.4) > slack {
		t.Errorf("got %.6f, %v; want 0.4", got, err)
	}
}
