package batch

import (
	"maps"
	"testing"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
)

func TestExpect(t *testing.T) {
	plain, claiming := &cluster.Template{}, &cluster.Template{Claims: []cluster.ClaimRef{{}}}
	pod := func(owner string, template *cluster.Template, state cluster.PodState) cluster.Pod {
		return cluster.Pod{PodKey: cluster.PodKey{Name: owner + "-" + string(state), UID: owner + string(state)}, Owner: cluster.Owner{Name: owner, UID: owner}, Template: template, State: state}
	}
	for name, c := range map[string]struct {
		pods   []cluster.Pod
		wanted cluster.Wanted
		age    time.Duration
		want   int
	}{
		"as many as are missing": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending), pod("web", plain, cluster.PodBound)}, wanted: cluster.Wanted{Pods: 5, Certain: true}, want: 3,
		},
		"those that are being deleted do not count": {
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
		"others cannot be bound": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending), pod("web", plain, cluster.PodFailing)}, wanted: cluster.Wanted{Pods: 5, Certain: true},
		},
		"each has its own volume": {
			pods: []cluster.Pod{pod("web", claiming, cluster.PodPending)}, wanted: cluster.Wanted{Pods: 5, Certain: true},
		},
		"long ago": {
			pods: []cluster.Pod{pod("web", plain, cluster.PodPending)}, wanted: cluster.Wanted{Pods: 5, Certain: true}, age: time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, before := State{}, &cluster.Snapshot{Pods: c.pods}
			for _, e := range []Event{Open{Quiet: time.Second, Idle: time.Second, Max: time.Second}, NewPoll(before, []*cluster.Pod{&c.pods[0]}, func(string) bool { return false }), Answer{Pod: &c.pods[0], Wanted: c.wanted}} {
				s, _ = Step(s, e, start)
			}
			got := s.Expect(before, start.Add(c.age))
			if len(got.Pods)-len(before.Pods) != c.want {
				t.Errorf("%d pods are expected, want %d", len(got.Pods)-len(before.Pods), c.want)
			}
			for _, p := range got.Pods {
				if IsExpected(p.PodKey) && (p.State != cluster.PodPending || p.Template != plain || !p.PresumedUnschedulable) {
					t.Errorf("%+v is not like the pod that waits", p)
				}
			}
		})
	}
}

// TestExpectIsBounded: a typing error in one Deployment must not take the agent's memory, or the
// expected replicas of others.
func TestExpectIsBounded(t *testing.T) {
	s, before := State{}, &cluster.Snapshot{}
	wanted := map[string]int{"huge": 1e9, "vast": 1e9, "web": 100}
	for owner := range wanted {
		before.Pods = append(before.Pods, cluster.Pod{
			PodKey: cluster.PodKey{Name: owner, UID: owner}, Owner: cluster.Owner{Name: owner, UID: owner},
			Template: &cluster.Template{}, State: cluster.PodPending,
		})
	}
	for i := range before.Pods {
		p := &before.Pods[i]
		s.learn(Answer{Pod: p, Wanted: cluster.Wanted{Pods: wanted[p.UID], Certain: true}}, time.Minute, start)
	}
	got := map[string]int{}
	for _, p := range s.Expect(before, start).Pods {
		if IsExpected(p.PodKey) {
			got[p.Owner.UID]++
		}
	}
	if want := (map[string]int{"huge": 2450, "vast": 2451, "web": 99}); !maps.Equal(got, want) {
		t.Errorf("expected replicas: %v, want %v, which are %d together", got, want, maxExpected)
	}
}

func TestPresume(t *testing.T) {
	web, api, claims := &cluster.Template{}, &cluster.Template{}, &cluster.Template{ResourceClaims: true}
	pod := func(uid string, template *cluster.Template, state cluster.PodState) cluster.Pod {
		return cluster.Pod{PodKey: cluster.PodKey{UID: uid}, Template: template, State: state}
	}
	s := &cluster.Snapshot{Pods: []cluster.Pod{
		pod("refused", web, cluster.PodPending), pod("alike", web, cluster.PodNew), pod("bound", web, cluster.PodBound),
		pod("other", api, cluster.PodNew), pod("placed", api, cluster.PodNew),
		pod("claiming", claims, cluster.PodPending), pod("claiming too", claims, cluster.PodNew),
	}}
	got := Presume(s, func(uid string) bool { return uid == "placed" })
	for i, p := range got.Pods {
		switch presumed := i == 1 || i == 4; {
		case presumed && (!p.PresumedUnschedulable || p.State != cluster.PodPending):
			t.Errorf("%s: is %s, presumed unschedulable: %v", p.UID, p.State, p.PresumedUnschedulable)
		case !presumed && (p.PresumedUnschedulable || p.State != s.Pods[i].State):
			t.Errorf("%s: is %s, presumed unschedulable: %v", p.UID, p.State, p.PresumedUnschedulable)
		}
	}
	if s.Pods[1].State != cluster.PodNew {
		t.Error("the snapshot was changed")
	}
}
