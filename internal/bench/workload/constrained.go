package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// MixedWithLimit is Mixed with a limit that binds nothing.
func MixedWithLimit(n int) *Workload {
	w := Mixed(n)
	w.Provisioners = w.Pools()
	w.Provisioners[0].Spec.Limits = cores(1_000_000)
	return w
}

func cores(n int64) *api.Limits {
	return &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(n, resource.DecimalSI)}}
}

// UniqueOverLimits is Unique with ten Provisioners whose limits together do not allow all pods.
func UniqueOverLimits(n int) *Workload {
	w := Unique(n)
	of := w.Pools()[0]
	for i := range 10 {
		p := of.DeepCopy()
		p.Name, p.Spec.Limits = fmt.Sprintf("pool-%d", i), cores(int64(n)/20)
		w.Provisioners = append(w.Provisioners, p)
	}
	return w
}

// Teams has 40 teams with a tainted Provisioner each, whose limit allows about half of the pods
// of the team's 25 Deployments. These are spread over zones, and have five priorities.
func Teams(n int) *Workload {
	const teams, deployments = 40, 25
	r := random(11)
	w := &Workload{Types: ec2(general)}
	of := w.Pools()[0]
	for team := range teams {
		p, name := of.DeepCopy(), fmt.Sprintf("team-%02d", team)
		taint := corev1.Taint{Key: "team", Value: name, Effect: corev1.TaintEffectNoSchedule}
		p.Name, p.Spec.Labels, p.Spec.Taints, p.Spec.Limits = name, map[string]string{"team": name}, []corev1.Taint{taint}, cores(int64(n)/teams)
		w.Provisioners = append(w.Provisioners, p)
		for d := range deployments {
			app, s, priority := fmt.Sprintf("%s-%02d", name, d), size{cpu: r.Int64N(3900) + 100, memory: r.Int64N(15_900) + 100}, int32(100*(d%5))
			for len(w.Pods) < n*(team*deployments+d+1)/(teams*deployments) {
				w.add(s, labelled("app", app), selecting("team", name), tolerating(taint), spread(corev1.LabelTopologyZone, "app", app),
					func(p *corev1.Pod) { p.Spec.Priority = &priority })
			}
		}
	}
	return w
}

// Tenants has twelve pods of each of many tenants; none may be on a node with a pod of another one.
func Tenants(n int) *Workload {
	const each = 12
	r := random(12)
	w := &Workload{Types: ec2(general)}
	for tenant := 0; len(w.Pods) < n; tenant++ {
		name, s := fmt.Sprintf("tenant-%03d", tenant), shape(r)
		for range min(each, n-len(w.Pods)) {
			w.add(s, labelled("tenant", name), apartFromOthers("tenant", name))
		}
	}
	return w
}

// apartFromOthers keeps a pod off nodes with pods that have another value of the label.
func apartFromOthers(key, value string) option {
	others := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpExists}, {Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: []string{value}},
	}}
	return func(p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: others}},
		}
	}
}

// DiverseWithFollower is Diverse with one more pod, which wants to be on a host with
// its like: as it is the only one, that asks for nothing.
func DiverseWithFollower(n int) *Workload {
	w := Diverse(n - 1)
	w.add(size{cpu: 500, memory: 512}, labelled("app", "follower"), near(corev1.LabelHostname, "app", "follower"))
	return w
}

// mixedKinds are what the pods of MixedSelectors ask of a node.
var mixedKinds = []map[string]string{
	nil,
	{api.LabelArch: "amd64"},
	{api.LabelArch: "arm64"},
	{api.LabelZone: Region + "a"},
	{api.LabelInstanceCategory: "c"},
	{api.LabelInstanceCategory: "r", api.LabelZone: Region + "b"},
	{api.LabelInstanceFamily: "m5"},
	{api.LabelInstanceFamily: "r6g", api.LabelZone: Region + "c"},
}

// MixedSelectors has eight kinds of selectors, on family, category, architecture and
// zone, and 25 shapes.
func MixedSelectors(n int) *Workload { return DrawnSelectors(10, n) }

// DrawnSelectors is MixedSelectors with shapes and pods of another seed.
func DrawnSelectors(seed uint64, n int) *Workload {
	w := &Workload{Types: ec2(general)}
	r := random(seed)
	shapes := make([]size, 25)
	for i := range shapes {
		shapes[i] = shape(r)
	}
	for range n {
		w.add(pick(r, shapes...), selectingAll(pick(r, mixedKinds...)))
	}
	return w
}

func selectingAll(wanted map[string]string) option {
	return func(p *corev1.Pod) {
		for key, value := range wanted {
			selecting(key, value)(p)
		}
	}
}

// GPUTrace has the common shapes of the trace as often as the trace has them.
func GPUTrace(n int) *Workload {
	w := &Workload{Types: ec2(withGPUs)}
	for len(w.Pods) < n {
		for _, s := range gpuTrace {
			for i := int64(0); i < s.pods && len(w.Pods) < n; i++ {
				w.add(s.size)
			}
		}
	}
	return w
}
