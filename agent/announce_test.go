package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// A controller makes three pods at a time. Machines for all are bought when the
// scheduler has refused the first of them, and cost what one purchase for all costs.
// Where the owner may not get to make them, nothing is bought for those that are to come.
func TestAnnouncedPods(t *testing.T) {
	grow := func(t *testing.T, made int, doubtful bool) (took time.Duration, launches int, total offer.Price) {
		inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, ControllerPods: made, LaunchTime: time.Millisecond}, func(r *rig) {
			r.Apply(testProvisioner("default"))
			r.start(Options{}, nil)
			time.Sleep(30 * time.Second) // let the status settle
			r.Deploy(sim.Workload{Name: "web", Replicas: 60, Doubtful: doubtful, Spec: sim.Requests("900m", "900Mi")})
			took = r.until("it is bought", func() bool { return len(r.Launches()) > 0 })
			r.until("the workload runs", r.allRun("web", 60))
			launches = len(r.Launches())
			for _, n := range r.ours() {
				total += priceOf(n.Annotations)
			}
			for _, e := range append(r.Events(eventNominated), r.Events(eventUnplaceable)...) {
				if strings.HasPrefix(e.UID, announcedPrefix) {
					t.Errorf("an announced pod is told: %+v", e)
				}
			}
		})
		return took, launches, total
	}
	_, orders, price := grow(t, 0, false)
	took, launches, total := grow(t, 3, false)
	if took > 400*time.Millisecond || launches != orders || total != price {
		t.Errorf("took %s, %d orders, $%.4f per hour; want 300 ms, %d orders, $%.4f", took, launches, total.Dollars(), orders, price.Dollars())
	}
	if _, launches, _ := grow(t, 3, true); launches < 10 {
		t.Errorf("in doubt, all was bought in %d orders, which is ahead of the pods", launches)
	}
}

// Machines are ahead of the pods that they are for: these find them, and what was
// bought for pods that never come goes as empty.
func TestAnnouncedPodsThatNeverCome(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, ControllerPods: 3, LaunchTime: time.Millisecond}, func(r *rig) {
		r.Apply(testProvisioner("default", emptyAfter(30)))
		r.start(Options{}, nil)
		time.Sleep(30 * time.Second)
		r.Deploy(sim.Workload{Name: "web", Replicas: 60, Spec: sim.Requests("900m", "900Mi")})
		r.until("it is bought", func() bool { return len(r.Machines()) > 0 })
		r.Scale("web", 3)
		r.until("the workload runs", r.allRun("web", 3))
		bought := len(r.Launches())
		r.until("only what is needed is left", func() bool { return r.cores() <= 10 })
		if got := len(r.Launches()); got != bought {
			t.Errorf("%d more orders for pods that nobody wants", got-bought)
		}
	})
}

func TestExpect(t *testing.T) {
	now := time.Now()
	plain, claiming := &cluster.Template{}, &cluster.Template{Claims: []cluster.ClaimRef{{}}}
	pod := func(owner string, template *cluster.Template, state cluster.PodState) cluster.Pod {
		return cluster.Pod{PodKey: cluster.PodKey{Name: owner + "-" + string(state), UID: owner + string(state)}, Owner: cluster.Owner{Name: owner, UID: owner}, Template: template, State: state}
	}
	for name, c := range map[string]struct {
		pods     []cluster.Pod
		template *cluster.Template
		wanted   cluster.Wanted
		age      time.Duration
		want     int
	}{
		"as many as are missing": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending), pod("web", plain, cluster.PodBound)}, wanted: cluster.Wanted{Pods: 5, Certain: true}, want: 3,
		},
		"those that go do not count": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending), pod("web", plain, cluster.PodTerminating)}, wanted: cluster.Wanted{Pods: 5, Certain: true}, want: 4,
		},
		"in doubt":         {pods: []cluster.Pod{pod("web", plain, cluster.PodPending)}, wanted: cluster.Wanted{Pods: 5}},
		"enough are there": {pods: []cluster.Pod{pod("web", plain, cluster.PodPending)}, wanted: cluster.Wanted{Pods: 1, Certain: true}},
		"none waits for a node": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodBound)}, wanted: cluster.Wanted{Pods: 5, Certain: true},
		},
		"others wait for something else": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending), pod("web", plain, cluster.PodWaiting)}, wanted: cluster.Wanted{Pods: 5, Certain: true},
		},
		"each has its own volume": {
			pods: []cluster.Pod{pod("web", claiming, cluster.PodPending)}, wanted: cluster.Wanted{Pods: 5, Certain: true},
		},
		"long ago": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending)}, wanted: cluster.Wanted{Pods: 5, Certain: true}, age: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory()
			s := &cluster.Snapshot{Pods: c.pods}
			h.announce(&c.pods[0], c.wanted, now.Add(time.Second-c.age))
			got := h.expect(s, now)
			if len(got.Pods)-len(s.Pods) != c.want {
				t.Errorf("%d pods are expected, want %d", len(got.Pods)-len(s.Pods), c.want)
			}
			for _, p := range got.Pods {
				if isAnnounced(p.PodKey) && (p.State != cluster.PodPending || p.Template != plain || bindable(&p)) {
					t.Errorf("%+v is not like the pod that waits, or may be bound", p)
				}
			}
		})
	}
}
