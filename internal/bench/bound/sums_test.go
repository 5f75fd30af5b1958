package bound

import (
	"fmt"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestSumsPricesChoicesApart: pods that may only be on a dear type are not paid for at
// the price of a cheap one, and their room serves whoever else may be there.
func TestSumsPricesChoicesApart(t *testing.T) {
	cheap, dear := machine("cheap", 4000, 8000, 100_000), machine("dear", 4000, 8000, 400_000)
	on := func(p *corev1.Pod, name string) *corev1.Pod {
		p.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: name}
		return p
	}
	for name, c := range map[string]struct {
		pods []*corev1.Pod
		want float64
	}{
		"anywhere":                        {[]*corev1.Pod{pod(0, 4000, 8000)}, 0.1},
		"where it is dear":                {[]*corev1.Pod{on(pod(0, 4000, 8000), "dear")}, 0.4},
		"each where it may be":            {[]*corev1.Pod{on(pod(0, 4000, 8000), "dear"), pod(1, 4000, 8000)}, 0.5},
		"beside another that left memory": {[]*corev1.Pod{on(pod(0, 4000, 100), "dear"), pod(1, 100, 7000)}, 0.4 + 0.1*100/4000},
	} {
		t.Run(name, func(t *testing.T) {
			w := &workload.Workload{Pods: c.pods, Types: []offer.InstanceType{cheap, dear}}
			got, err := Sums(w, w.Pods)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got-c.want) > 1e-4*c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
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
	got, err := Sums(w, w.Pods)
	if err != nil || math.Abs(got-0.5) > 1e-4 {
		t.Errorf("got %.6f, %v; want 0.5", got, err)
	}
	w.Pods[0].Labels = map[string]string{"app": "b"} // repels the others and not its like
	if got, err = Sums(w, w.Pods); err != nil || math.Abs(got-0.4) > 1e-4 {
		t.Errorf("got %.6f, %v; want 0.4", got, err)
	}
}

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
