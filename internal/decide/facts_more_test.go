package decide

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestEligibilityFacts(t *testing.T) {
	for id, change := range map[string]func(*corev1.Pod){
		"ELIG-002": func(p *corev1.Pod) { p.Status.Conditions = nil },
		"ELIG-003": func(p *corev1.Pod) {
			p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
		},
		"ELIG-004": func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" },
		"ELIG-006": func(p *corev1.Pod) {
			controller := true
			p.OwnerReferences = append(p.OwnerReferences, ownerReference("DaemonSet", "ds", &controller))
		},
		"ELIG-007": func(p *corev1.Pod) {
			controller := true
			p.OwnerReferences = append(p.OwnerReferences, ownerReference("Node", "n", &controller))
		},
		"ELIG-011": func(p *corev1.Pod) {
			at := deletedAt()
			p.DeletionTimestamp = &at
		},
	} {
		t.Run(id, func(t *testing.T) {
			w := newWorld(t, catalogueA()).provisioner("default", "{}")
			p := w.pod("p", "{}")
			change(p)
			w.add(p)
			w.pods(1, "plain", "requests: {cpu: 1}") // ELIG-001
			if got := view(w.decide(), byType); got != "small(plain)" {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestMoreLimitAndLaunchFacts(t *testing.T) {
	all := wants("k2 In v2", "k3 NotIn v3", "k4 Lt 4", "k5 Gt 5", "k6 Exists", "k7 DoesNotExist")
	check(t, []fact{
		{id: "LIM-014", given: func(w *world) {
			w.provisioner("default", "limits: {resources: {memory: 8Gi}}").pods(10, "p", "requests: {memory: 1Gi}")
		}, see: func(p Plan) string {
			total := int64(0)
			for _, m := range p.Machines {
				total += m.Allocatable["memory"]
			}
			return fmt.Sprint(total > 0 && total <= 8<<30, len(p.Unplaced) > 0)
		}, want: "true true"},
		limitOfThousand("1k"), limitOfThousand("1000"), limitOfThousand(`"1000"`),
		one("LAUNCH-002", wants("k1 In v", "k2 In v"), "", func(m *Machine) string { return m.Labels["k1"] + m.Labels["k2"] }, "vv(p)"),
		one("LAUNCH-010", "annotations: {karpenter.sh/do-not-consolidate: \"true\"}", "", func(m *Machine) string { return m.Annotations[api.AnnotationDoNotConsolidate] }, "true(p)"),
		one("LAUNCH-011", "labels: {k1: v1}, "+all, "", func(m *Machine) string {
			l := m.Labels
			_, k7 := l["k7"]
			return fmt.Sprintf("%s %s %s %v %s %s %v %v", l[api.LabelProvisioner], l["k1"], l["k2"], l["k3"] != "" && l["k3"] != "v3", l["k4"], l["k5"], l["k6"] != "", k7)
		}, "default v1 v2 true 0 6 true false(p)"),
	})
}

// limitOfThousand (LIM-010) is a spelling of a limit that allows one machine of 1,000 CPU, and not two.
func limitOfThousand(spelling string) fact {
	return fact{id: "LIM-010 " + spelling, given: func(w *world) {
		w.provisioner("a", "limits: {resources: {cpu: "+spelling+"}}").pods(2, "p", "requests: {cpu: 600}")
	}, types: func() []offer.InstanceType { return []offer.InstanceType{size("thousand", 1000, 4, 5)} }, see: types, want: "1 thousand, 1 pending"}
}

// TestNothingIsBoughtTwice (ELIG-012, EXIST-016): pods that were not bound yet
// keep the places that an earlier plan found for them.
func TestNothingIsBoughtTwice(t *testing.T) {
	w := newWorld(t, catalogueA()).provisioner("default", "{}").pods(4, "small", "requests: {cpu: 900m}").pods(4, "big", "requests: {cpu: 1.9}")
	first := w.decide()
	for i := range first.Machines {
		m := &first.Machines[i]
		w.node(fmt.Sprintf("n%d", i), m.Chosen().InstanceType, m.Chosen().Zone, starting)
		for _, pod := range m.Pods {
			w.in.Planned = append(w.in.Planned, Binding{Pod: pod, Node: fmt.Sprintf("n%d", i)})
		}
	}
	second := w.decide()
	verify(t, &w.in, &second)
	if len(second.Machines) != 0 || len(second.Unplaced) != 0 {
		t.Fatalf("bought %d machines more, %d pods have no place", len(second.Machines), len(second.Unplaced))
	}
	for _, b := range second.Bindings {
		if !slices.ContainsFunc(w.in.Planned, func(p Binding) bool { return p.Pod == b.Pod && p.Node == b.Node }) {
			t.Errorf("pod %s moved to %s", b.Pod, b.Node)
		}
	}
}

func TestMoreTopologyFacts(t *testing.T) {
	check(t, []fact{
		{id: "TOPO-013", given: func(w *world) {
			w.provisioner("default", wants("$zone In b c")).node("n", "small", "a", nil).running("r", "n", "{labels: {app: x}, requests: {cpu: 1.1}}").
				pods(10, "p", "{requests: {cpu: 1.1}, "+spread("$zone")+"}")
		}, see: func(p Plan) string { return podsBy(p, byZone, map[string]int{"a": 1}) }, want: "1 a, 2 b, 2 c, 6 pending"},
		{id: "TOPO-025", given: func(w *world) {
			w.provisioner("default", wants("$capacity In spot on-demand")).pods(4, "p", spread("$capacity"))
		}, see: func(p Plan) string { return podsBy(p, byCapacity, nil) }, want: "2 on-demand, 2 spot"},
		{id: "TOPO-048", given: func(w *world) {
			w.provisioner("default", wants("$zone In a b")).node("n", "std", "c", func(n *cluster.Node) {
				n.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
			}).pods(4, "p", spread("$zone", ", nodeTaintsPolicy: Honor"))
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "2 a, 2 b"},
		{id: "TOPO-048 ignored", given: func(w *world) {
			w.provisioner("default", wants("$zone In a b")).node("n", "std", "c", func(n *cluster.Node) {
				n.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
			}).pods(4, "p", spread("$zone"))
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "1 a, 1 b, 2 pending"},
		{id: "TOPO-080", given: func(w *world) {
			w.node("n", "std", "a", nil).finished("done", "n", "labels: {app: t}").pods(1, "p", affine("podAffinity", "$host", "t"))
		}, want: "pending(p)"},
		{id: "VOL-015", given: func(w *world) {
			w.storage("ebs", "a", "data").pods(1, "p", claim("data"))
			zone := &w.in.Snapshot.Volumes[0].NodeAffinity.NodeSelectorTerms[0].MatchExpressions[0]
			zone.Values = append(zone.Values, "b")
		}, see: func(p Plan) string { return view(p, byZone) }, want: "a(p)"},
		// A machine is pinned to its zone, so both may go in one round, unlike with a
		// scheduler that learns the zone only from the launch (TOPO-067, TOPO-071).
		{id: "TOPO-067", given: func(w *world) {
			w.pods(1, "p", "{requests: {cpu: 2}, "+affine("podAntiAffinity", "$zone", "t")+"}").pods(1, "t", "labels: {app: t}")
		}, see: func(p Plan) string { return view(p, byZone) }, want: "a(p), b(t)"},
		{id: "TOPO-071", given: func(w *world) {
			w.pods(10, "p", "{labels: {app: x}, "+affine("podAntiAffinity", "$zone", "x")+"}")
		}, see: func(p Plan) string { return podsBy(p, byZone, nil) }, want: "1 a, 1 b, 1 c, 7 pending"},
	})
}

func TestRoundsOfSpreads(t *testing.T) { // TOPO-035
	w := newWorld(t, ladder(5)).provisioner("default", "{}")
	want := []string{"on-demand:1 spot:1", "on-demand:3 spot:2", "on-demand:5 spot:5", "on-demand:11 spot:10"}
	for i, n := range []int{2, 3, 5, 11} {
		w.pods(n, fmt.Sprintf("r%d-", i), "labels: {app: x}, topologySpreadConstraints: ["+
			"{maxSkew: 1, topologyKey: $capacity, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}, "+
			"{maxSkew: 3, topologyKey: $host, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: x}}}]")
		w.round()
		if got := perDomain(w, Plan{}, byCapacity, api.LabelCapacityType); got != want[i] {
			t.Errorf("round %d: got %s, want %s", i, got, want[i])
		}
	}
	perNode := map[string]int{}
	for _, p := range w.in.Snapshot.Pods {
		if perNode[p.NodeName]++; perNode[p.NodeName] > 3 {
			t.Errorf("node %s has more than 3 pods", p.NodeName)
		}
	}
}

func TestMoreDriftFacts(t *testing.T) {
	worn := func(w *world) { w.node("n", "small", "a", marked(31e9)) }
	for _, c := range []removal{
		{"DEPROV-039", "{disruption: {drift: true}, " + wants("$zone In b") + "}", func(w *world) { w.node("n", "small", "a", nil) }, "drift n 0; "},
		{"DEPROV-040", "{disruption: {drift: true}, " + wants("$zone In b") + "}", func(w *world) {
			w.node("n1", "small", "a", nil).node("n2", "small", "a", nil).node("n3", "small", "a", nil)
		}, "drift n1 0; drift n2 0; drift n3 0; "},
		{"DEPROV-056", "{disruption: {drift: true}, taints: [{key: a, effect: NoSchedule}, {key: b, effect: NoSchedule}], " + wants("$zone In a b", "$os In linux windows") + "}", func(w *world) {
			p := w.in.Provisioners[0].Spec
			hash := p.Hash()
			slices.Reverse(p.Spec.Taints)
			slices.Reverse(p.Spec.Requirements)
			slices.Reverse(p.Spec.Requirements[0].Values)
			w.node("n", "small", "a", func(n *cluster.Node) { n.Annotations[api.AnnotationProvisionerHash] = hash })
		}, ""},
		{"DEPROV-072", "{disruption: {drift: true}, ttlSecondsAfterEmpty: 30, ttlSecondsUntilExpired: 30, " + wants("$zone In b") + "}", worn, "expiry n 0; "},
		{"DEPROV-072 without expiry", "{disruption: {drift: true}, ttlSecondsAfterEmpty: 30, " + wants("$zone In b") + "}", worn, "drift n 0; "},
		{"DEPROV-072 without drift", "{disruption: {drift: false}, ttlSecondsAfterEmpty: 30, " + wants("$zone In b") + "}", worn, "emptiness n 0; "},
		{"DEPROV-072 off", "{disruption: {drift: false}, " + wants("$zone In b") + "}", worn, "unmark n; "},
	} {
		t.Run(c.id, func(t *testing.T) {
			w := newWorld(t, catalogueA()).provisioner("default", c.provisioner)
			c.given(w)
			if got := seen(w.decide()); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A node drifts once a new machine of its type would get another image, and not when one of another type would.
func TestNewImageIsDrift(t *testing.T) {
	for _, instanceType := range []string{"small", "std"} {
		types := catalogueA()
		for i := range types {
			types[i].Labels = maps.Clone(types[i].Labels)
			types[i].Labels[api.LabelInstanceAMIID] = []string{"ami-1"}
			if types[i].Name == instanceType {
				types[i].Labels[api.LabelInstanceAMIID] = []string{"ami-2"}
			}
		}
		w := newWorld(t, types).provisioner("default", "{disruption: {drift: true}}").node("n", "small", "a", func(n *cluster.Node) { n.Labels[api.LabelInstanceAMIID] = "ami-1" })
		want := ""
		if instanceType == "small" {
			want = "drift n 0; "
		}
		if got := seen(w.decide()); got != want {
			t.Errorf("%s has a new image: got %q, want %q", instanceType, got, want)
		}
	}
}

func TestOverheadReducesWhatANodeOffers(t *testing.T) { // PACK-014
	reserve := func(name string, cpu int64) offer.InstanceType {
		s := size(name, cpu, 4, 9)
		s.Overhead["cpu"] += 500 // what the Provisioner's systemReserved comes to
		return s
	}
	w := newWorld(t, []offer.InstanceType{reserve("four", 4), reserve("two", 2)}).provisioner("default", "{}").pods(1, "p", "requests: {cpu: 1.9}")
	if got := view(w.decide(), byType); got != "four(p)" {
		t.Errorf("got %s", got)
	}
}
