package replicas

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// running are pods of the workload that run and are ready, by their UIDs.
func running(l *Workload, names ...string) map[types.UID]*corev1.Pod {
	pods := map[types.UID]*corev1.Pod{}
	for i, name := range names {
		p := l.Pod(types.UID(fmt.Sprintf("uid-%d", i)), name, metav1.Time{})
		p.Spec.NodeName = "node-" + p.Name
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		pods[p.UID] = p
	}
	return pods
}

func TestChange(t *testing.T) {
	old := &Workload{Name: "web", Revision: "1"}
	set := &Workload{Name: "db", Stateful: true}
	tests := map[string]struct {
		load   Workload
		pods   map[types.UID]*corev1.Pod
		atOnce int
		make   []string
		stop   []string
	}{
		"a new workload":            {load: Workload{Name: "web", Replicas: 2}, make: []string{"", ""}},
		"a few pods at once":        {load: Workload{Name: "web", Replicas: 9}, atOnce: 2, make: []string{"", ""}},
		"as many as are wanted":     {load: Workload{Name: "web", Replicas: 2}, pods: running(&Workload{Name: "web"}, "a", "b")},
		"fewer are wanted":          {load: Workload{Name: "web", Replicas: 1}, pods: running(&Workload{Name: "web"}, "a", "b"), stop: []string{"b"}},
		"a StatefulSet fills a gap": {load: Workload{Name: "db", Stateful: true, Replicas: 3}, pods: running(set, "db-0", "db-2"), make: []string{"db-1"}},
		"a StatefulSet shrinks":     {load: Workload{Name: "db", Stateful: true, Replicas: 1}, pods: running(set, "db-0", "db-1"), stop: []string{"db-1"}},
		"a new revision": {load: Workload{Name: "web", Revision: "2", Replicas: 4},
			pods: running(old, "a", "b", "c", "d"), make: []string{""}, stop: []string{"d"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.load.Change(Of(tt.pods, tt.load.Name), tt.pods, tt.atOnce)
			var stopped []string
			for _, p := range got.Stop {
				stopped = append(stopped, p.Name)
			}
			if !slices.Equal(got.Make, tt.make) || !slices.Equal(stopped, tt.stop) {
				t.Errorf("makes %q and stops %q, want %q and %q", got.Make, stopped, tt.make, tt.stop)
			}
		})
	}
}

// A pod of a StatefulSet that is being deleted has no successor yet.
func TestStatefulPodsWaitForTheirPredecessors(t *testing.T) {
	load := &Workload{Name: "db", Stateful: true, Replicas: 1}
	pods := running(load, "db-0")
	for _, p := range pods {
		p.DeletionTimestamp = &metav1.Time{}
	}
	if got := load.Change(nil, pods, 0); len(got.Make) > 0 {
		t.Errorf("it makes %q although the predecessor is there", got.Make)
	}
}

// A Deployment is settled when all its pods are of its revision and none is missing or too many.
func TestDeployment(t *testing.T) {
	load := &Workload{Name: "web", Revision: "2", Replicas: 2}
	current := running(load, "a", "b")
	if d := load.Deployment(Of(current, "web"), Scale{}); !d.Settled || d.Available != 2 {
		t.Errorf("settled %t with %d available, want 2", d.Settled, d.Available)
	}
	rolling := running(&Workload{Name: "web", Revision: "1"}, "a", "b")
	if d := load.Deployment(Of(rolling, "web"), Scale{}); d.Settled || d.Available != 0 {
		t.Errorf("settled %t with %d available while it rolls out", d.Settled, d.Available)
	}
}

// What users wish is what they have set last, whatever agents scale the workload to.
func TestScaled(t *testing.T) {
	two, three := &Workload{Replicas: 2}, &Workload{Replicas: 3}
	s := Scale{}.Scaled(nil, two, false)
	s = s.Scaled(two, three, true)
	if s.Wished != 2 || !s.ByAgent || s.Version != 2 {
		t.Errorf("after an agent has scaled up it is %+v", s)
	}
	if s = s.Scaled(three, two, false); s.Wished != 2 || s.ByAgent {
		t.Errorf("after users have scaled down it is %+v", s)
	}
}
