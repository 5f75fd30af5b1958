package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// MixedWithLimit is Mixed with a limit that binds nothing.
func MixedWithLimit(n int) *Workload {
	w := Mixed(n)
	w.Provisioners = w.Pools()
	w.Provisioners[0].Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000000")}}
	return w
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
