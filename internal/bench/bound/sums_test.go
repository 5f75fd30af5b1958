package bound

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

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

// TestSumsIsResourcesWithoutChoice: where all pods may be everywhere both are the same.
func TestSumsIsResourcesWithoutChoice(t *testing.T) {
	for _, w := range []*workload.Workload{workload.Mixed(300), workload.GPUs(300)} {
		want, err := Resources(w)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Sums(w, w.Pods)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got-want) > 1e-3*want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}
