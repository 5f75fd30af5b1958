package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A deployment grows by ten pods at a time. Machines are bought for the first step at
// once, and for others when no further one is due in time.
func TestBatchWaitsForTheNextStep(t *testing.T) {
	cases := map[string]struct {
		every time.Duration
		steps int
		want  []int // seconds after which pods are bound
	}{
		"a second step may be the last":                 {every: 2 * time.Second, steps: 2, want: []int{0, 5}},
		"one in three is overdue":                       {every: 6 * time.Second, steps: 4, want: []int{0, 12, 27}},
		"pods wait for several steps, but not for long": {every: 3 * time.Second, steps: 5, want: []int{0, 12}},
		"steps that come too rarely are not waited for": {every: 15 * time.Second, steps: 3, want: []int{0, 15, 30}},
		"fast steps are one, but for the first":         {every: 400 * time.Millisecond, steps: 5, want: []int{0, 2}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sim.Options{LaunchTime: time.Millisecond}, func(r *rig) {
				r.Apply(testProvisioner("default"))
				r.start(Options{}, nil)
				time.Sleep(30 * time.Second) // let the status settle
				began := time.Now()
				r.Deploy(sim.Workload{Name: "web", Replicas: 10, Spec: sim.Requests("900m", "900Mi")})
				go func() {
					for i := 1; i < c.steps; i++ {
						time.Sleep(c.every)
						r.Scale("web", 10*(i+1))
					}
				}()
				var got []int
				for n := 0; n < 10*c.steps; {
					r.until("more pods are bound", func() bool { return r.count("web", bound) > n })
					got = append(got, int(time.Since(began).Seconds()))
					n = r.count("web", bound)
				}
				if got = slices.Compact(got); !slices.Equal(got, c.want) {
					t.Errorf("pods are bound after %d s, want %d s", got, c.want)
				}
			})
		})
	}
}

// Pods of a deployment that does not grow do not wait for the steps of another.
func TestNextStepKeepsNobodyElseWaiting(t *testing.T) {
	inBubble(t, sim.Options{LaunchTime: time.Millisecond}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		time.Sleep(30 * time.Second) // let the status settle
		r.Deploy(sim.Workload{Name: "web", Replicas: 10, Spec: sim.Requests("900m", "900Mi")})
		time.Sleep(6 * time.Second)
		r.Scale("web", 20) // the next is due in 6 s
		time.Sleep(2 * time.Second)
		if got := r.count("web", bound); got != 10 {
			t.Errorf("%d pods of the growing deployment are bound, want those of its first step", got)
		}
		r.Deploy(sim.Workload{Name: "other", Replicas: 1, Spec: sim.Requests("900m", "900Mi")})
		if took := r.until("all are bound", func() bool { return r.count("other", bound)+r.count("web", bound) == 21 }); took > time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// An autoscaler of workloads takes a deployment from 5 to 200 pods in ten steps
// within a minute: what is bought costs at most 5 % more than one purchase for all.
func TestStepwiseScaleUp(t *testing.T) {
	for _, pod := range [][2]string{{"250m", "512Mi"}, {"450m", "900Mi"}, {"500m", "2Gi"}, {"1", "4Gi"}, {"3", "5Gi"}} {
		t.Run(pod[0]+" "+pod[1], func(t *testing.T) {
			once, stepwise := priceOfGrowth(t, 1, pod), priceOfGrowth(t, 10, pod)
			if limit := once + once/20; stepwise > limit {
				t.Errorf("ten steps cost $%.4f, one $%.4f per hour", stepwise.Dollars(), once.Dollars())
			}
			t.Logf("one purchase $%.4f per hour, ten steps $%.4f", once.Dollars(), stepwise.Dollars())
		})
	}
}

// priceOfGrowth returns what the machines for 200 pods cost that come in so many steps
// within a minute, after the first five.
func priceOfGrowth(t *testing.T, steps int, pod [2]string) (total offer.Price) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		r.Deploy(sim.Workload{Name: "web", Replicas: 5, Spec: sim.Requests(pod[0], pod[1])})
		for i := range steps {
			r.Scale("web", 5+195*(i+1)/steps)
			time.Sleep(time.Minute / time.Duration(steps))
		}
		time.Sleep(3 * time.Minute)
		r.until("the workload runs", r.allRun("web", 200))
		for _, n := range r.ours() {
			total += offer.PriceOf(n.Annotations)
		}
	})
	return total
}
