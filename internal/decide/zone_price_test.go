package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// zonal is an instance type that is sold on demand, at a price in each zone.
func zonal(t offer.InstanceType, cents map[string]int64) offer.InstanceType {
	t.Offerings = nil
	for zone, price := range cents {
		t.Offerings = append(t.Offerings, offer.Offering{Zone: zone, CapacityType: api.CapacityOnDemand, Price: offer.Price(price * 10_000)})
	}
	t.Sort()
	return t
}

// TestPodsGoToTheCheapestZone: pods whose constraints speak of zones, and let them choose one,
// go to the zone where they cost least.
func TestPodsGoToTheCheapestZone(t *testing.T) {
	zone := func(p Plan) string {
		return view(p, func(m *Machine) string { return m.Chosen().InstanceType + " in " + m.Chosen().Zone })
	}
	check(t, []fact{
		{
			id: "nodes without room do not make a zone the cheapest",
			types: func() []offer.InstanceType {
				return []offer.InstanceType{zonal(size("std", 4, 4, 5), map[string]int64{"a": 30, "b": 20, "c": 10})}
			},
			given: func(w *world) {
				w.node("n1", "std", "a", nil).running("r1", "n1", "requests: {cpu: 3}").
					node("n2", "std", "b", nil).running("r2", "n2", "requests: {cpu: 3}").
					pods(1, "p", "{requests: {cpu: 1}, labels: {app: x}, "+affine("podAntiAffinity", "$zone", "x")+"}")
			},
			see: zone, want: "std in c(p)",
		},
		{
			id: "nodes that get full leave the next pods to the cheapest zone",
			types: func() []offer.InstanceType {
				return []offer.InstanceType{zonal(size("std", 4, 4, 5), map[string]int64{"a": 30, "b": 10})}
			},
			given: func(w *world) {
				w.node("n", "std", "a", nil).
					pods(2, "p", "{requests: {cpu: 3}, labels: {app: x}, "+affine("podAntiAffinity", "$host", "x")+"}").
					pods(1, "q", "{requests: {cpu: 100m}, "+affine("podAffinity", "$zone", "x")+"}")
			},
			see: zone, want: "std in b(p2), n<-(p1 q)",
		},
		{
			id: "a zone costs a machine at least",
			types: func() []offer.InstanceType {
				return []offer.InstanceType{
					zonal(size("large", 16, 16, 50), map[string]int64{"a": 40, "b": 80}),
					zonal(size("small", 2, 2, 5), map[string]int64{"a": 12, "b": 10}),
				}
			},
			given: func(w *world) {
				w.pods(1, "p", "{requests: {cpu: 100m}, labels: {app: x}, "+affine("podAffinity", "$zone", "x")+"}")
			},
			see: zone, want: "small in b(p)",
		},
		{
			id: "a zone costs whole machines",
			types: func() []offer.InstanceType {
				return []offer.InstanceType{zonal(size("three", 4, 4, 5), map[string]int64{"a": 113}), zonal(size("two", 3, 4, 5), map[string]int64{"b": 95})}
			},
			given: func(w *world) {
				w.pods(4, "p", "{requests: {cpu: 1.2}, labels: {app: x}, "+affine("podAffinity", "$zone", "x")+"}")
			},
			see: zone, want: "two in b(p1 p2), two in b(p3 p4)",
		},
		{
			id: "pods share a machine in a zone that is the cheapest for none of those that may choose",
			types: func() []offer.InstanceType {
				return []offer.InstanceType{zonal(size("std", 4, 4, 5), map[string]int64{"a": 10, "b": 12})}
			},
			given: func(w *world) {
				w.pods(1, "p", "{requests: {cpu: 1}, labels: {app: x}, "+affine("podAntiAffinity", "$zone", "x")+"}").
					pods(1, "q", "{requests: {cpu: 1}, nodeSelector: {$zone: b}}")
			},
			see: zone, want: "std in b(p q)",
		},
	})
}

// TestZonesUnderLimits: pods that have to be together go to a zone where limits leave room for all
// of them, and among such zones to that of the Provisioner with the highest weight.
func TestZonesUnderLimits(t *testing.T) {
	const together = "{requests: {cpu: 1.5}, labels: {app: x}, "
	given := func(limit, other string) func(*world) {
		return func(w *world) {
			w.provisioner("heavy", "{weight: 100, "+wants("$zone In a")+", limits: {resources: {cpu: "+limit+"}}}").provisioner("light", wants(other))
			w.pods(4, "p", together+affine("podAffinity", "$zone", "x")+"}")
		}
	}
	see := func(p Plan) string {
		return podsBy(p, func(m *Machine) string { return m.Provisioner + " in " + byZone(m) }, nil)
	}
	check(t, []fact{
		{id: "the limit allows one pod", given: given("2", "$zone In b"), see: see, want: "4 light in b"},
		{id: "the limit allows all pods", given: given("8", "$zone In b"), see: see, want: "4 heavy in a"},
		{id: "the rest of the pods has room in the same zone", given: given("2", "$zone In a b"), see: see, want: "1 heavy in a, 3 light in a"},
		{id: "only the lower weight holds all pods in both zones", given: func(w *world) {
			given("2", "$zone In b")(w)
			w.provisioner("costly", wants("$zone In a", "$arch In arm64"))
		}, see: see, want: "4 light in b"},
		{id: "no zone has room for all", given: func(w *world) {
			given("4", "$zone In b")(w)
			w.in.Provisioners[1].Spec.Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
		}, see: see, want: "2 heavy in a, 2 pending"},
	})
}

// TestNodesAreForPodsThatNothingIsSoldFor: a pod that only a node can take has its place there,
// and a larger one that could have had it gets a machine.
func TestNodesAreForPodsThatNothingIsSoldFor(t *testing.T) {
	check(t, []fact{{
		id: "a label that no Provisioner has",
		given: func(w *world) {
			w.node("n", "std", "a", func(n *cluster.Node) { n.Labels["disk"] = "old" }).
				pods(1, "large", "requests: {cpu: 3}").
				pods(1, "small", "{requests: {cpu: 2}, nodeSelector: {disk: old}}")
		},
		want: "std(large), n<-(small)",
	}})
}

// TestNodesOfAllAlternativesAreFilled: no machine is bought for the first of a pod's alternatives
// as long as a node that another one allows has room.
func TestNodesOfAllAlternativesAreFilled(t *testing.T) {
	check(t, []fact{{
		id: "a node of the second alternative",
		given: func(w *world) {
			w.node("n", "std", "b", nil).pods(6, "p", "{requests: {cpu: 900m}, "+requires("$zone In a", "OR", "$zone In b")+"}")
		},
		see: func(p Plan) string { return view(p, byZone) }, want: "a(p5 p6), n<-(p1 p2 p3 p4)",
	}})
}

// Pods that others have to be with go where these have room, also if there are too many pods to
// compare zones by their price.
func TestFollowerAmongManyPods(t *testing.T) {
	for name, zones := range map[string][]string{
		"one":                       {"c"},
		"two that need other zones": {"b", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop()).provisioner("default", onDemand).pods(250, "other", "requests: {cpu: 100m}")
			for _, zone := range zones {
				app := "web-" + zone
				w.pods(1, app, "labels: {app: "+app+"}, requests: {cpu: 1}")
				w.pods(1, "trainer-"+zone, "{requests: {cpu: 1}, nodeSelector: {$zone: "+zone+"}, "+affine("podAffinity", "$zone", app)+"}")
			}
			plan := w.decide()
			verify(t, &w.in, &plan)
			if len(plan.Unplaced) > 0 {
				t.Errorf("%s: %s", plan.Unplaced[0].Pod, plan.Unplaced[0].Reason)
			}
		})
	}
}

// TestFollowersOfPodsWithoutPlace: no zones are tried for pods that have no place in any.
func TestFollowersOfPodsWithoutPlace(t *testing.T) {
	effort := func(follower string) int64 {
		w := newWorld(t, shop()).provisioner("default", onDemand).pods(250, "other", "requests: {cpu: 100m}")
		w.pods(1, "web", "labels: {app: web}, requests: {cpu: 1000}").pods(1, "follower", follower)
		_, effort := decideCounting(w.in)
		return effort
	}
	follows := effort("{requests: {cpu: 1}, " + affine("podAffinity", "$zone", "web") + "}")
	follower := effort("{requests: {cpu: 1}, " + affine("podAffinity", "$zone", "nobody") + "}")
	if follows > 2*follower {
		t.Errorf("%d steps, and %d where nobody is followed", follows, follower)
	}
}
