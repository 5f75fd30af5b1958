package agent

import (
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sim"
)

// The scheduler takes 1.8 s for the pods. Once it has refused the first of them,
// machines for all are bought; each pod is bound once it was refused, too.
func TestForeseenPods(t *testing.T) {
	inBubble(t, sim.Options{ReactionTime: 300 * time.Millisecond, SchedulerPods: 10}, func(r *rig) {
		r.Apply(testProvisioner("default"))
		r.start(Options{}, nil)
		time.Sleep(30 * time.Second) // let the status settle
		r.Deploy(sim.Workload{Name: "web", Replicas: 60, Spec: sim.Requests("100m", "100Mi")})
		// 300 ms to make the pods, 300 ms to look at ten, 1 s for the launch call.
		if took := r.until("it is bought", func() bool { return len(r.Launches()) > 0 }); took > 1700*time.Millisecond {
			t.Errorf("took %s", took)
		}
		r.until("the workload runs", r.allRun("web", 60))
		if got := len(r.Launches()); got != 1 {
			t.Errorf("%d launches, want 1", got)
		}
	})
}

func TestForesee(t *testing.T) {
	web, api, claims := &cluster.Template{}, &cluster.Template{}, &cluster.Template{ResourceClaims: true}
	pod := func(uid string, template *cluster.Template, state cluster.PodState) cluster.Pod {
		return cluster.Pod{PodKey: cluster.PodKey{UID: uid}, Template: template, State: state}
	}
	s := &cluster.Snapshot{Pods: []cluster.Pod{
		pod("refused", web, cluster.PodPending), pod("alike", web, cluster.PodNew), pod("bound", web, cluster.PodBound),
		pod("other", api, cluster.PodNew), pod("placed", api, cluster.PodNew),
		pod("claiming", claims, cluster.PodPending), pod("claiming too", claims, cluster.PodNew),
	}}
	h := newHistory()
	h.planned["placed"] = decide.Binding{Node: "n"}
	got := h.foresee(s)
	for i, want := range map[int]bool{1: true, 4: true} {
		if p := got.Pods[i]; p.Foreseen != want || p.State != cluster.PodPending || bindable(&p) {
			t.Errorf("%s: foreseen %v as %s, bindable %v", p.UID, p.Foreseen, p.State, bindable(&p))
		}
	}
	for _, i := range []int{0, 2, 3, 5, 6} {
		if p := got.Pods[i]; p.Foreseen || p.State != s.Pods[i].State {
			t.Errorf("%s: foreseen %v as %s", p.UID, p.Foreseen, p.State)
		}
	}
	if s.Pods[1].State != cluster.PodNew {
		t.Error("the snapshot was changed")
	}
}
