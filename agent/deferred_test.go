package agent

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/agent/event"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// TestExhaustedPodsAreRetriedWithBackoff has pods that take more work than they may, while
// others come all the time: they are planned again after 30 s, and then ever more rarely.
func TestExhaustedPodsAreRetriedWithBackoff(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default", emptyAfter(10)))
		planned := 0
		r.start(Options{Decide: func(in decide.Input) decide.Plan {
			before := in.Deferred
			plan := decide.Decide(in)
			tried := false
			for i := range plan.Unplaced {
				u := &plan.Unplaced[i]
				if _, deferred := before[u.Pod]; strings.HasPrefix(u.Pod.Name, "bad") && !deferred {
					u.Exhausted, u.Reason, tried = true, "too much work", true
				}
			}
			if tried {
				planned++
			}
			return plan
		}}, nil)
		r.Deploy(sim.Workload{Name: "bad", Replicas: 3, Spec: sim.Requests("1000", "1Gi")})
		r.Deploy(sim.Workload{Name: "good", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		for i := range 30 {
			r.Scale("good", 2-i%2)
			time.Sleep(time.Minute)
		}
		r.Scale("good", 2)
		r.until("the others run", r.allRun("good", 2))
		if planned < 4 || planned > 8 {
			t.Errorf("planned the pods %d times in 30 min", planned)
		}
		said := 0
		for _, e := range r.Events(event.Unplaceable) {
			if strings.Contains(e.Message, "too much work; next attempt at ") {
				said++
			}
		}
		if said == 0 {
			t.Error("no event says that the pods are tried again")
		}
	})
}

// The pods of a StatefulSet or an indexed Job, each of which has a label of its own, are deferred together.
func TestPodsWithAnIndexAreDeferredTogether(t *testing.T) {
	deferred, now, s, plan := deferrals{}, time.Now(), &cluster.Snapshot{}, &decide.Plan{}
	for _, name := range []string{"set-0", "set-1", "set-2"} {
		s.Pods = append(s.Pods, cluster.Pod{
			PodKey: cluster.PodKey{Namespace: "default", Name: name, UID: name},
			Owner:  cluster.Owner{Kind: "StatefulSet", Name: "set", UID: "set"}, State: cluster.PodPending,
			Template: &cluster.Template{Namespace: "default", Labels: map[string]string{"statefulset.kubernetes.io/pod-name": name}, Claims: []cluster.ClaimRef{{Name: "data-" + name}}},
		})
		plan.Unplaced = append(plan.Unplaced, decide.Unplaced{Pod: cluster.PodKey{Namespace: "default", Name: name, UID: name}, Reason: "too much work", Exhausted: true})
	}
	deferred.note(plan, s, now)
	if later := deferred.of(s, now.Add(time.Second)); len(later) != 3 {
		t.Errorf("deferred %d of 3 pods: %v", len(later), later)
	}
}

// TestHealthOfAPlanThatDoesNotEnd has a plan that is made for ever: the agent is ill long
// before the next turn is due.
func TestHealthOfAPlanThatDoesNotEnd(t *testing.T) {
	inBubble(t, sim.Options{}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		hang := make(chan struct{})
		var hanging atomic.Bool
		a := r.start(Options{Decide: func(in decide.Input) decide.Plan {
			if hanging.Load() {
				<-hang
			}
			return decide.Decide(in)
		}}, nil)
		time.Sleep(time.Minute)
		hanging.Store(true)
		r.Deploy(sim.Workload{Name: "web", Replicas: 1, Spec: sim.Requests("700m", "1Gi")})
		time.Sleep(planMost + 15*time.Second)
		if code, body := get(a.HealthHandler(), "/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "planning has been running") {
			t.Errorf("an agent that plans for ever is said to be well: %d %s", code, body)
		}
		close(hang)
		r.until("the pod runs", r.allRun("web", 1))
		if code, body := get(a.HealthHandler(), "/healthz"); code != http.StatusOK {
			t.Errorf("an agent that works again is said to be ill: %d %s", code, body)
		}
	})
}
