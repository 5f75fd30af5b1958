package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// TestFigures reports how long the agent takes: from the first and the last pod
// that kube-scheduler marks unschedulable to the first fleet call, and from there
// until every pod is bound. The first figure has kube-scheduler's own time in it,
// which looks at about 200 pods a second here; the boot of the machines is in
// none. It asserts that all pods are bound, not how fast.
func TestFigures(t *testing.T) {
	s := newScene(t)
	for _, pods := range []int{10, 100, 1000} {
		t.Run(fmt.Sprintf("%d pods", pods), func(t *testing.T) {
			s := s.in(t)
			app := fmt.Sprintf("figures-%d", pods)
			seen := s.observe(app, pods)
			before := len(s.Sandbox.Cloud.Calls())
			s.apply(deployment(app, "default", pods, "100m", "128Mi"))
			times, ok := <-seen
			if !ok {
				t.Fatalf("not all of %d pods were bound within %s", pods, patience)
			}
			fleet := s.firstFleetCall(before)
			t.Logf("%d pods: first unschedulable to fleet call %s, last unschedulable to fleet call %s, fleet call to last binding %s",
				pods, fleet.Sub(times.first).Round(time.Millisecond), fleet.Sub(times.last).Round(time.Millisecond),
				times.bound.Sub(fleet).Round(time.Millisecond))
			s.delete(app)
			s.untilNoNodes("default")
		})
	}
}

// times are when pods were first and last seen to become unschedulable, and when
// the last of them was bound.
type times struct{ first, last, bound time.Time }

// observe watches an app's pods. It sends once, when count of them are bound, or
// closes the channel when patience ends.
func (s *scene) observe(app string, count int) <-chan times {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	out := make(chan times, 1)
	var seen times
	marked, bound := map[string]bool{}, map[string]bool{}
	look := func(o any) {
		pod := o.(*corev1.Pod)
		if stage.Unschedulable(pod) && !marked[pod.Name] {
			marked[pod.Name] = true
			seen.last = time.Now()
			if seen.first.IsZero() {
				seen.first = seen.last
			}
		}
		if pod.Spec.NodeName != "" {
			bound[pod.Name] = true
		}
		if len(bound) == count && seen.bound.IsZero() {
			seen.bound = time.Now()
			out <- seen
			cancel()
		}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.Kube, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = "app=" + app
	}))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, o any) { look(o) }})
	if err != nil {
		cancel()
		s.t.Fatalf("watch pods: %v", err)
	}
	go func() {
		pods.RunWithContext(ctx)
		close(out)
	}()
	return out
}

// firstFleetCall returns the time of the first CreateFleet after the given number of calls.
func (s *scene) firstFleetCall(after int) time.Time {
	s.t.Helper()
	for _, c := range s.Sandbox.Cloud.Calls()[after:] {
		if c.Action == "CreateFleet" {
			return c.Time
		}
	}
	s.t.Fatal("no fleet was requested")
	return time.Time{}
}
