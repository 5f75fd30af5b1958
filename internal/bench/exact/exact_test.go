package exact

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// cores is a type for so many pods of a core.
func cores(name string, n int64, price offer.Price) offer.InstanceType {
	return offer.InstanceType{
		Name:      name,
		Labels:    map[string][]string{corev1.LabelInstanceTypeStable: {name}, corev1.LabelArchStable: {"amd64"}, corev1.LabelOSStable: {"linux"}},
		Capacity:  amount.List{amount.CPU: 1000 * n, amount.Memory: 8 << 30, amount.Pods: 10},
		Offerings: []offer.Offering{{Zone: "a", CapacityType: api.CapacityOnDemand, Price: price}},
	}
}

func three() *workload.Workload {
	w := &workload.Workload{Types: []offer.InstanceType{cores("one", 1, 10), cores("two", 2, 15), cores("three", 3, 21)}}
	for i := range 3 {
		w.Pods = append(w.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Namespace: "default", Labels: map[string]string{"app": "x"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}},
		})
	}
	return w
}

// withNode adds a node with room for one pod.
func withNode(w *workload.Workload) *workload.Workload {
	of := cores("one", 1, 10)
	w.Nodes = []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{corev1.LabelHostname: "node", corev1.LabelTopologyZone: "a"}},
		Status:     corev1.NodeStatus{Allocatable: of.Capacity.ResourceList()},
	}}
	return w
}

func apart(w *workload.Workload) *workload.Workload {
	for _, p := range w.Pods {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}}}}
	}
	return w
}

func limited(w *workload.Workload) *workload.Workload {
	w.Provisioners = w.Pools()
	w.Provisioners[0].Spec.Limits = &api.Limits{Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}
	return w
}

func TestBetter(t *testing.T) {
	for name, c := range map[string]struct {
		work  *workload.Workload
		left  int
		price offer.Price
	}{
		"one machine for all":            {three(), 0, 21},
		"a node takes one":               {withNode(three()), 0, 15},
		"one machine each":               {apart(three()), 0, 30},
		"a node, and one machine each":   {withNode(apart(three())), 0, 20},
		"a limit leaves one over":        {limited(three()), 1, 15},
		"a node takes what a limit does": {withNode(limited(three())), 0, 15},
	} {
		t.Run(name, func(t *testing.T) {
			best, tried := Better(c.work, &check.Plan{}, 10_000)
			if faults := check.Faults(c.work, &best); len(faults) > 0 || !tried {
				t.Errorf("all plans tried: %t, faults %q", tried, faults)
			}
			if left := len(c.work.Pods) - best.Placed(); left != c.left || best.Price() != c.price {
				t.Errorf("%d pods left over and a price of %d, want %d and %d", left, best.Price(), c.left, c.price)
			}
		})
	}
}

// TestBetterStops: what is found within few steps is not said to be best.
func TestBetterStops(t *testing.T) {
	if _, tried := Better(three(), &check.Plan{}, 3); tried {
		t.Error("three steps are said to be enough")
	}
}
