package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// BenchmarkGrowth lets a workload grow in steps, with all of EC2 on sale, and reports
// how much more its machines cost than one purchase for all its pods: at the end, as
// the mean of several kinds of pods and the worst of them, and as the mean where the
// growth ends with the first step that room is bought ahead for. Each of the steps is
// bought for apart, as if none was known of the others, and then as it is.
func BenchmarkGrowth(b *testing.B) {
	types := realTypes(b)
	for _, path := range []struct {
		name  string
		steps []int
	}{
		{"twenties", []int{5, 19, 20, 19, 20, 19, 20, 19, 20, 19, 20}},
		{"twenties, bought for in twos", []int{5, 19, 39, 39, 39, 39, 20}},
		{"doubling", []int{5, 5, 10, 20, 40, 80, 40}},
		{"tens", []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10}},
		{"fours", []int{4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
	} {
		for _, apart := range []time.Duration{time.Hour, 10 * time.Second} {
			b.Run(fmt.Sprintf("%s/apart=%s", path.name, apart), func(b *testing.B) {
				var end, early, worst float64
				for b.Loop() {
					end, early, worst = 0, 0, 0
					for _, pod := range grownPods {
						excess := excessOfGrowth(b, types, pod, path.steps, apart)
						last := excess[len(excess)-1]
						end += last / float64(len(grownPods))
						early += excess[2] / float64(len(grownPods))
						worst = max(worst, last)
					}
				}
				b.ReportMetric(100*end, "end-%")
				b.ReportMetric(100*worst, "worst-%")
				b.ReportMetric(100*early, "third-%")
			})
		}
	}
}

var grownPods = [][2]string{
	{"200m", "1Gi"}, {"250m", "512Mi"}, {"300m", "700Mi"}, {"450m", "900Mi"}, {"500m", "1Gi"}, {"500m", "2Gi"},
	{"700m", "1400Mi"}, {"1", "2Gi"}, {"1", "4Gi"}, {"1", "8Gi"}, {"2", "4Gi"}, {"3", "5Gi"},
}

// excessOfGrowth returns, by step, the share by which what was bought so far costs
// more than one purchase.
func excessOfGrowth(b *testing.B, types []offer.InstanceType, pod [2]string, steps []int, apart time.Duration) []float64 {
	b.Helper()
	text := fmt.Sprintf("{owner: ReplicaSet/web, requests: {cpu: %s, memory: %s}}", pod[0], pod[1])
	empty := func() *world {
		w := newWorld(b, types)
		usual(w, onDemand)
		return w
	}
	grown, pods, total := empty(), 0, offer.Price(0)
	var out []float64
	for _, step := range steps {
		pods += step
		total += grown.step(pods, step, text, apart)
		once := empty().step(pods, pods, text, apart)
		out = append(out, float64(total)/float64(once)-1)
	}
	return out
}

// step adds pods up to the given number, carries out the plan for them, and returns
// the price of what was bought.
func (w *world) step(upTo, pods int, text string, apart time.Duration) offer.Price {
	for i := upTo - pods; i < upTo; i++ {
		w.pods(1, fmt.Sprintf("web-%03d", i), text)
		w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].Created = w.in.Now
	}
	plan := w.decide()
	at := map[cluster.PodKey]string{}
	for _, bound := range plan.Bindings {
		at[bound.Pod] = bound.Node
	}
	for _, m := range plan.Machines {
		name := fmt.Sprintf("node-%03d", len(w.in.Snapshot.Nodes))
		w.node(name, m.Chosen().InstanceType, m.Chosen().Zone, nil)
		for _, pod := range m.Pods {
			at[pod] = name
		}
	}
	for i := range w.in.Snapshot.Pods {
		if p := &w.in.Snapshot.Pods[i]; p.State == cluster.PodPending {
			p.State, p.NodeName = cluster.PodBound, at[p.PodKey]
		}
	}
	w.in.Now = w.in.Now.Add(apart)
	return plan.HourlyPrice
}
