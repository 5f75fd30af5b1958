package decide

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// The pathological pods: each asks for very much of one kind of thing, or of several.
// Any user of a cluster may create them, and none may keep others from their nodes.

// manyOf returns n of them.
func manyOf[T any](n int, one func(i int) T) []T {
	out := []T{}
	for i := range n {
		out = append(out, one(i))
	}
	return out
}

func own(i int) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{fmt.Sprintf("l%d", i): "x"}}
}

func ownLabels(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("l%d", i)] = "x"
	}
	return out
}

func manySpreads(n int, key func(int) string, when corev1.UnsatisfiableConstraintAction) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels = ownLabels(n)
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, manyOf(n, func(i int) corev1.TopologySpreadConstraint {
			return corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: key(i), WhenUnsatisfiable: when, LabelSelector: own(i)}
		})...)
	}
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}, PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{}}
	}
	return p.Spec.Affinity
}

// podAffinity adds n terms, of which the pod itself meets those that are its own.
func podAffinity(n int, anti, preferred, self bool, key func(int) string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if self {
			p.Labels = ownLabels(n)
		}
		terms := manyOf(n, func(i int) corev1.PodAffinityTerm {
			return corev1.PodAffinityTerm{TopologyKey: key(i), LabelSelector: own(i)}
		})
		weighted := manyOf(n, func(i int) corev1.WeightedPodAffinityTerm {
			return corev1.WeightedPodAffinityTerm{Weight: int32(i%100 + 1), PodAffinityTerm: terms[i]}
		})
		a := affinityOf(p)
		switch {
		case anti && preferred:
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = weighted
		case anti:
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
		case preferred:
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = weighted
		default:
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = terms
		}
	}
}

func expression(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
	return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
}

func nodeTerms(n int, term func(i int) []corev1.NodeSelectorRequirement) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		affinityOf(p).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
			NodeSelectorTerms: manyOf(n, func(i int) corev1.NodeSelectorTerm { return corev1.NodeSelectorTerm{MatchExpressions: term(i)} }),
		}
	}
}

func nodePreferences(n int, term func(i int) []corev1.NodeSelectorRequirement) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		affinityOf(p).NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = manyOf(n, func(i int) corev1.PreferredSchedulingTerm {
			return corev1.PreferredSchedulingTerm{Weight: int32(i%100 + 1), Preference: corev1.NodeSelectorTerm{MatchExpressions: term(i)}}
		})
	}
}

func all(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		labels := map[string]string{}
		for _, change := range changes {
			change(p)
			maps.Copy(labels, p.Labels)
		}
		p.Labels = labels
	}
}

// Topology keys.
func unknownKey(i int) string { return fmt.Sprintf("example.com/k%d", i) }
func longKey(i int) string {
	return strings.Repeat("d", 63) + "." + strings.Repeat("e", 63) + "." + strings.Repeat("f", 63) + ".com/" + strings.Repeat("n", 55) + fmt.Sprint(1000+i)
}
func zoneKey(int) string { return api.LabelZone }
func hostKey(int) string { return api.LabelHostname }
func typeKey(i int) string {
	known := api.WellKnownLabels()
	return known[i%len(known)]
}

func unknownTerm(i int) []corev1.NodeSelectorRequirement {
	return []corev1.NodeSelectorRequirement{expression(unknownKey(i), corev1.NodeSelectorOpIn, "x")}
}

func values(n int) []string { return manyOf(n, func(i int) string { return fmt.Sprintf("v%d", i) }) }

// pathological returns the kinds by name.
func pathological() map[string]func(*corev1.Pod) {
	return map[string]func(*corev1.Pod){
		"100 spreads over keys that nobody has":      manySpreads(100, unknownKey, corev1.DoNotSchedule),
		"1000 spreads over keys that nobody has":     manySpreads(1000, unknownKey, corev1.DoNotSchedule),
		"100 spreads over keys of maximal length":    manySpreads(100, longKey, corev1.DoNotSchedule),
		"100 spreads over zones":                     manySpreads(100, zoneKey, corev1.DoNotSchedule),
		"100 spreads over host names":                manySpreads(100, hostKey, corev1.DoNotSchedule),
		"100 spreads over labels of types":           manySpreads(100, typeKey, corev1.DoNotSchedule),
		"100 soft spreads over keys that nobody has": manySpreads(100, unknownKey, corev1.ScheduleAnyway),
		"100 soft spreads over labels of types":      manySpreads(100, typeKey, corev1.ScheduleAnyway),
		"100 affinities over zones":                  podAffinity(100, false, false, false, zoneKey),
		"100 affinities over zones to itself":        podAffinity(100, false, false, true, zoneKey),
		"100 affinities over host names":             podAffinity(100, false, false, false, hostKey),
		"100 affinities over host names to itself":   podAffinity(100, false, false, true, hostKey),
		"100 affinities over keys that nobody has":   podAffinity(100, false, false, true, unknownKey),
		"100 affinities over labels of types":        podAffinity(100, false, false, true, typeKey),
		"100 preferred affinities over zones":        podAffinity(100, false, true, false, zoneKey),
		"100 preferred affinities over types":        podAffinity(100, false, true, true, typeKey),
		"100 preferred affinities over unknown keys": podAffinity(100, false, true, true, unknownKey),
		"100 anti-affinities over zones":             podAffinity(100, true, false, true, zoneKey),
		"100 anti-affinities over host names":        podAffinity(100, true, false, true, hostKey),
		"100 anti-affinities over keys nobody has":   podAffinity(100, true, false, true, unknownKey),
		"100 anti-affinities over labels of types":   podAffinity(100, true, false, true, typeKey),
		"100 preferred anti-affinities over types":   podAffinity(100, true, true, true, typeKey),
		"100 node affinity terms":                    nodeTerms(100, unknownTerm),
		"64 node affinity terms and 100 preferences": all(nodeTerms(64, unknownTerm), nodePreferences(100, unknownTerm)),
		"100 preferences for labels that nobody has": nodePreferences(100, unknownTerm),
		"100 preferences for labels of types": nodePreferences(100, func(i int) []corev1.NodeSelectorRequirement {
			return []corev1.NodeSelectorRequirement{expression(typeKey(i), corev1.NodeSelectorOpNotIn, fmt.Sprint(i))}
		}),
		"10000 values of an expression": nodeTerms(10, func(i int) []corev1.NodeSelectorRequirement {
			return []corev1.NodeSelectorRequirement{expression(api.LabelInstanceType, corev1.NodeSelectorOpNotIn, append(values(10000), fmt.Sprint(i))...)}
		}),
		"10000 values that nobody has": nodeTerms(10, func(i int) []corev1.NodeSelectorRequirement {
			return []corev1.NodeSelectorRequirement{expression(api.LabelInstanceType, corev1.NodeSelectorOpIn, append(values(10000), fmt.Sprint(i))...)}
		}),
		"10000 expressions": nodeTerms(10, func(i int) []corev1.NodeSelectorRequirement {
			return manyOf(1000, func(k int) corev1.NodeSelectorRequirement {
				return expression(unknownKey(k), corev1.NodeSelectorOpNotIn, fmt.Sprint(i))
			})
		}),
		"1000 node selectors": func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{}
			for i := range 1000 {
				p.Spec.NodeSelector[unknownKey(i)] = "x"
			}
		},
		"1000 node selectors of maximal length": func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{}
			for i := range 1000 {
				p.Spec.NodeSelector[longKey(i)] = strings.Repeat("v", 63)
			}
		},
		"10000 labels that are selected": func(p *corev1.Pod) {
			manySpreads(3, zoneKey, corev1.DoNotSchedule)(p)
			p.Labels = ownLabels(10000)
			for i := range 10000 {
				p.Spec.TopologySpreadConstraints[0].MatchLabelKeys = append(p.Spec.TopologySpreadConstraints[0].MatchLabelKeys, fmt.Sprintf("l%d", i))
			}
		},
		"1000 tolerations": func(p *corev1.Pod) {
			p.Spec.Tolerations = manyOf(1000, func(i int) corev1.Toleration {
				return corev1.Toleration{Key: unknownKey(i), Operator: corev1.TolerationOpExists}
			})
		},
		"1000 containers with 3 host ports each": func(p *corev1.Pod) {
			one := p.Spec.Containers[0]
			p.Spec.Containers = manyOf(1000, func(i int) corev1.Container {
				c := one
				c.Name = fmt.Sprintf("c%d", i)
				c.Resources = corev1.ResourceRequirements{}
				c.Ports = manyOf(3, func(k int) corev1.ContainerPort {
					return corev1.ContainerPort{HostPort: int32(3*i + k + 1), Protocol: corev1.ProtocolTCP}
				})
				return c
			})
		},
		"1000 claims": func(p *corev1.Pod) {
			p.Spec.Volumes = manyOf(1000, func(i int) corev1.Volume {
				return corev1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%04d", i)}}}
			})
		},
		"10000 owners": func(p *corev1.Pod) {
			p.OwnerReferences = manyOf(10000, func(i int) metav1.OwnerReference {
				return ownerReference("Thing", fmt.Sprintf("o%d", i), ptr.To(i == 9999))
			})
		},
		"names of maximal length": func(p *corev1.Pod) {
			p.Name = strings.Repeat("n", 253)
			all(manySpreads(100, longKey, corev1.ScheduleAnyway), nodePreferences(100, func(i int) []corev1.NodeSelectorRequirement {
				return []corev1.NodeSelectorRequirement{expression(longKey(i), corev1.NodeSelectorOpIn, strings.Repeat("v", 63))}
			}))(p)
		},
		"100 of everything": all(
			manySpreads(100, typeKey, corev1.DoNotSchedule), manySpreads(100, unknownKey, corev1.ScheduleAnyway),
			podAffinity(100, false, false, true, zoneKey), podAffinity(100, true, false, true, unknownKey),
			podAffinity(100, false, true, true, typeKey), podAffinity(100, true, true, true, unknownKey),
			nodeTerms(64, func(i int) []corev1.NodeSelectorRequirement {
				return []corev1.NodeSelectorRequirement{expression(api.LabelInstanceCPU, corev1.NodeSelectorOpGt, fmt.Sprint(i))}
			}),
			nodePreferences(100, unknownTerm),
		),
	}
}

// everyType and everyIndex are read once, since each of many worlds needs them.
var (
	typesOnce []offer.InstanceType
	indexOnce *offer.Index
)

func everyType(t testing.TB) []offer.InstanceType {
	if typesOnce == nil {
		typesOnce = realTypes(t)
	}
	return typesOnce
}

func everyIndex(t testing.TB) *offer.Index {
	if indexOnce == nil {
		indexOnce = offer.NewIndex(everyType(t))
	}
	return indexOnce
}

// withPathological returns a world of EC2's instance types, ten Provisioners, 200 nodes and
// one plain pod, with n pods of a kind.
func withPathological(t testing.TB, n int, change func(*corev1.Pod)) *world {
	w := newWorld(t, everyType(t))
	for i := range 10 {
		w.provisioner(fmt.Sprintf("p%d", i), "requirements: [{key: $capacity, operator: In, values: [on-demand]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}]")
	}
	w.in.Provisioners[0].Spec.Name = "default"
	index := everyIndex(t)
	for i := range w.in.Provisioners {
		w.in.Provisioners[i].Index = index
	}
	for i := range 200 {
		w.node(fmt.Sprintf("node-%d", i), "m5.xlarge", []string{"us-east-1a", "us-east-1b", "us-east-1c"}[i%3], nil)
	}
	wait := "waits"
	w.in.Snapshot.StorageClasses = []cluster.StorageClass{{Name: wait, Driver: "ebs", WaitForFirstConsumer: true, Default: true}}
	for i := range 1000 {
		w.in.Snapshot.Claims = append(w.in.Snapshot.Claims, cluster.Claim{Namespace: "default", Name: fmt.Sprintf("claim-%04d", i), StorageClass: &wait})
	}
	w.pods(1, "plain", "requests: {cpu: 20, memory: 1Gi}")
	for i := range n {
		p := w.pod(fmt.Sprintf("bad-%d", i), "requests: {cpu: 100m, memory: 1Gi}")
		change(p)
		p.Name = fmt.Sprint(i) + p.Name[len(fmt.Sprint(i)):]
		p.UID = apitypes.UID(p.Name)
		w.add(p)
	}
	w.in.Snapshot.Sort()
	return w
}

// BenchmarkPathological reports the processor time of a turn with one pod of each kind,
// beside that of a turn without any. docs/operations.md names the highest.
func BenchmarkPathological(b *testing.B) {
	kinds := pathological()
	kinds["a plain pod"] = func(*corev1.Pod) {}
	for name, change := range kinds {
		b.Run(name, func(b *testing.B) {
			w := withPathological(b, 1, change)
			before := cpuTime(b)
			for b.Loop() {
				Decide(w.in)
			}
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// cpuTime is the processor time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestPathologicalPodsCostOthersNothing has one pod of each kind, which takes no more work
// than a pod may take, and keeps a plain pod from nothing.
func TestPathologicalPodsCostOthersNothing(t *testing.T) {
	for name, change := range pathological() {
		t.Run(name, func(t *testing.T) {
			w := withPathological(t, 1, change)
			plan, effort := decideCounting(w.in)
			if effort > effortOfOne {
				t.Errorf("took %d steps, more than %d", effort, effortOfOne)
			}
			for _, u := range plan.Unplaced {
				if u.Pod.Name == "plain" {
					t.Errorf("the plain pod has no place: %s", u.Reason)
				}
				if len(u.Reason) > 2000 {
					t.Errorf("the reason has %d characters: %.200s", len(u.Reason), u.Reason)
				}
			}
		})
	}
}

// effortOfOne is what a template of one pod and a plain pod may take together: see
// effortOfTemplate in package pack, and what one look at all that is sold adds to it.
const effortOfOne = 4_000_000

func decideCounting(in Input) (Plan, int64) {
	d := newDecision(&in)
	plan := d.plan()
	return plan, d.effort
}

// TestManyPathologicalPodsShareATurn has a hundred different ones: together they take no
// more than a turn may take, and as much again to finish what has begun in each of two passes,
// those that went without are exhausted, and the plain pod
// has its place.
func TestManyPathologicalPodsShareATurn(t *testing.T) {
	w := withPathological(t, 0, nil)
	kinds := pathological()
	for i := range 100 {
		p := w.pod(fmt.Sprintf("bad-%d", i), "requests: {cpu: 100m, memory: 1Gi}")
		kinds["64 node affinity terms and 100 preferences"](p)
		kinds["100 soft spreads over labels of types"](p)
		p.Spec.NodeSelector = map[string]string{api.LabelInstanceCategory: "c", unknownKey(i): "x"}
		w.add(p)
	}
	w.in.Snapshot.Sort()
	plan, effort := decideCounting(w.in)
	if most := int64(3 * 42_000_000); effort > most {
		t.Errorf("took %d steps, more than %d", effort, most)
	}
	exhausted := 0
	for _, u := range plan.Unplaced {
		if u.Pod.Name == "plain" {
			t.Errorf("the plain pod has no place: %s", u.Reason)
		}
		if u.Exhausted {
			exhausted++
			if !strings.Contains(u.Reason, "does not define the label") && !strings.Contains(u.Reason, "100 ") {
				t.Errorf("the reason does not say what is too much: %s", u.Reason)
			}
		}
	}
	if exhausted == 0 {
		t.Error("no pod is exhausted")
	}
}

// TestDeferredPodsAreNotPlanned has a pod that would have a place, and is told why it is
// not looked at.
func TestDeferredPodsAreNotPlanned(t *testing.T) {
	w := newWorld(t, catalogueA()).provisioner("default", "").pods(2, "p", "requests: {cpu: 1}")
	w.in.Deferred = map[cluster.PodKey]string{w.in.Snapshot.Pods[0].PodKey: "later"}
	plan := w.decide()
	if len(plan.Unplaced) != 1 || plan.Unplaced[0].Reason != "later" || plan.Unplaced[0].Exhausted || len(plan.Machines) != 1 {
		t.Errorf("planned %+v", plan)
	}
}

// TestOthersWorkExhaustsNoPod has many classes, whose preference nobody can meet, on many nodes
// that none of them may use: the look at all nodes for all classes is charged to none of them.
func TestOthersWorkExhaustsNoPod(t *testing.T) {
	w := newWorld(t, catalogueA()).provisioner("default", "")
	for i := range 2000 {
		w.node(fmt.Sprintf("n-%04d", i), "std", "a", func(n *cluster.Node) {
			n.Taints = []corev1.Taint{{Key: "batch", Effect: corev1.TaintEffectNoSchedule}}
			n.Allocatable = amount.List{amount.CPU: 200, amount.Memory: 1 << 30, amount.Pods: 5}
		})
	}
	for c := range 400 {
		w.pods(10, fmt.Sprintf("c%03d-", c), fmt.Sprintf("requests: {cpu: 200m, memory: %dMi}, affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: example.com/x, operator: In, values: [z]}]}}]}}", c+1))
	}
	w.in.Prove = false
	if plan := w.decide(); len(plan.Unplaced) > 0 {
		t.Errorf("%d pods have no place, among them %s: %s", len(plan.Unplaced), plan.Unplaced[0].Pod.Name, plan.Unplaced[0].Reason)
	}
}

// TestTermsThatManyPodsAreComparedWith has pods with 9,000 preferred terms among 1,000 different
// pods that run. Terms that ask for labels which none of these has need not be compared with
// them. To compare all terms with all pods is more work than a pod may take.
func TestTermsThatManyPodsAreComparedWith(t *testing.T) {
	for operator, exhausts := range map[metav1.LabelSelectorOperator]bool{metav1.LabelSelectorOpExists: false, metav1.LabelSelectorOpDoesNotExist: true} {
		w := newWorld(t, catalogueA()).provisioner("default", "")
		for i := range 200 {
			w.node(fmt.Sprintf("n-%04d", i), "std", "a", nil)
		}
		for i := range 1000 {
			w.running(fmt.Sprintf("r-%04d", i), fmt.Sprintf("n-%04d", i%200), fmt.Sprintf("labels: {app: a%d}, requests: {cpu: 100m}", i))
		}
		w.pods(1, "plain", "requests: {cpu: 1}")
		for c := range 4 {
			p := w.pod(fmt.Sprintf("bad%d", c), "requests: {cpu: 100m}")
			affinityOf(p).PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = manyOf(9000, func(i int) corev1.WeightedPodAffinityTerm {
				return corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{
					TopologyKey: corev1.LabelHostname, NamespaceSelector: &metav1.LabelSelector{},
					LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: fmt.Sprintf("k%d-%d", c, i), Operator: operator}}},
				}}
			})
			w.add(p)
		}
		w.in.Snapshot.Sort()
		w.in.Prove = false
		plan, effort := decideCounting(w.in)
		if effort > 4*effortOfOne {
			t.Errorf("%s: took %d steps", operator, effort)
		}
		want := 0
		if exhausts {
			want = 4
		}
		if len(plan.Unplaced) != want {
			t.Errorf("%s: %d pods have no place, want %d", operator, len(plan.Unplaced), want)
		}
		for _, u := range plan.Unplaced {
			if !u.Exhausted || u.Pod.Name == "plain" {
				t.Errorf("%s: %s has no place: %s", operator, u.Pod.Name, u.Reason)
			}
		}
	}
}
