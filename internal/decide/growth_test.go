package decide

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

func TestSteps(t *testing.T) {
	for name, c := range map[string]struct {
		made []int // seconds
		next int
		want int
	}{
		"none":                        {nil, 0, 0},
		"one":                         {[]int{0, 0}, 10, 1},
		"three, in no order":          {[]int{20, 0, 10}, 30, 3},
		"a slow one is one":           {[]int{0, 1, 2, 3}, 10, 1},
		"the present one is no other": {[]int{0, 9}, 10, 1},
		"too long ago":                {[]int{0}, 121, 0},
		"a chain of old ones":         {[]int{0, 110, 220}, 330, 3},
		"only since a pause":          {[]int{0, 200}, 210, 1},
	} {
		var made []time.Time
		for _, s := range c.made {
			made = append(made, noon.Add(time.Duration(s)*time.Second))
		}
		if got := steps(made, noon.Add(time.Duration(c.next)*time.Second)); got != c.want {
			t.Errorf("%s: %d steps, want %d", name, got, c.want)
		}
	}
}

// growingWorld is one in which a workload takes its third step, of n pods.
func growingWorld(t testing.TB, types []offer.InstanceType, n int, pod string) *world {
	w := newWorld(t, types)
	usual(w, onDemand)
	w.node("busy", types[0].Name, "a", func(n *cluster.Node) { n.Unschedulable = true })
	w.running("first", "busy", pod).running("second", "busy", pod)
	w.pods(n, "next", pod)
	for i := range w.in.Snapshot.Pods {
		w.in.Snapshot.Pods[i].Created = noon.Add(time.Duration(min(i, 2)-3) * 10 * time.Second)
	}
	return w
}

// What is bought for pods that may not come costs at most three quarters more than
// what is bought for those that wait; all of these have a place, on machines that all
// have pods.
func TestRoomAheadIsBounded(t *testing.T) {
	types := realTypes(t)
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(r, "pods")
		cpu, mib := rapid.IntRange(1, 40).Draw(r, "CPU"), rapid.IntRange(1, 60).Draw(r, "memory")
		w := growingWorld(t, types, n, fmt.Sprintf("{owner: ReplicaSet/web, requests: {cpu: %dm, memory: %dMi}}", 100*cpu, 128*mib))
		ahead := w.decide()
		Verify(r, &w.in, &ahead)
		for i := range w.in.Snapshot.Pods {
			w.in.Snapshot.Pods[i].Created = time.Time{}
		}
		plain := w.decide()
		for _, m := range ahead.Machines {
			n -= len(m.Pods)
			if len(m.Pods) == 0 {
				r.Errorf("%s has no pods", m.Name)
			}
		}
		if n > 0 {
			r.Errorf("%d pods are on no machine", n)
		}
		if ahead.HourlyPrice < plain.HourlyPrice || ahead.HourlyPrice > plain.HourlyPrice*7/4 {
			r.Errorf("$%.4f with room ahead, $%.4f without", ahead.HourlyPrice.Dollars(), plain.HourlyPrice.Dollars())
		}
		if ahead.LowerBound != plain.LowerBound {
			r.Errorf("a bound of $%.4f with room ahead, $%.4f without", ahead.LowerBound.Dollars(), plain.LowerBound.Dollars())
		}
	})
}
