package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// TestFigures takes a deployment from 0 to FIGURES_PODS ("1,10,100") pods,
// FIGURES_RUNS (1) times each, and reports how long the agent takes: from the first
// and the last pod that kube-scheduler marks unschedulable to the first fleet call,
// and from there until every pod is bound. The first figure has the time in it that
// the controllers need to make all pods; the second is negative where the agent
// foresees what kube-scheduler has not said yet; the boot of the machines is in
// none. `make figures` writes docs/latency.md with it. It
// asserts that all pods are bound, not how fast.
func TestFigures(t *testing.T) {
	s := newScene(t)
	// Those of the demo have limits.
	s.apply(provisioner("figures", `
requirements:
  - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
ttlSecondsAfterEmpty: 5
`))
	s.scaleUp("figures", 1) // the agent has just started, and has no prices yet
	var rows []figures
	for _, pods := range sizes(t) {
		t.Run(fmt.Sprintf("%d pods", pods), func(t *testing.T) {
			s := s.in(t)
			s.longer = time.Duration(pods/10) * time.Second
			row := figures{pods: pods}
			for range min(number(t, "FIGURES_RUNS", 1), max(2, 2000/pods)) {
				row.add(s.scaleUp("figures", pods))
			}
			rows = append(rows, row)
			t.Log(row.String())
		})
	}
	if path := os.Getenv("FIGURES_MARKDOWN"); path != "" && !t.Failed() {
		if err := os.WriteFile(path, []byte(latencyPage(rows)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func sizes(t *testing.T) []int {
	t.Helper()
	var out []int
	for field := range strings.SplitSeq(cmp.Or(os.Getenv("FIGURES_PODS"), "1,10,100"), ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			t.Fatalf("FIGURES_PODS has %q, want numbers of pods such as 1,10,100", field)
		}
		out = append(out, n)
	}
	return out
}

// scaleUp takes a deployment from nothing to a number of pods, and away again.
func (s *scene) scaleUp(app string, pods int) (first, last, bound time.Duration) {
	s.t.Helper()
	s.apply(deployment(app, app, 0, "100m", "128Mi"))
	seen := s.observe(app, pods)
	before := len(s.Sandbox.Cloud.Calls())
	_, err := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault).UpdateScale(s.t.Context(), app, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: app},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(pods)},
	}, metav1.UpdateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	at, ok := <-seen
	if !ok {
		s.t.Fatalf("not all of %d pods were bound in time", pods)
	}
	fleet := s.firstFleetCall(before)
	s.delete(app)
	s.untilNoNodes(app)
	return fleet.Sub(at.first), fleet.Sub(at.last), at.bound.Sub(fleet)
}

// times are when pods were first and last seen to become unschedulable, and when
// the last of them was bound.
type times struct{ first, last, bound time.Time }

// observe watches an app's pods. It sends once, when count of them are bound, or
// closes the channel when patience ends.
func (s *scene) observe(app string, count int) <-chan times {
	ctx, cancel := context.WithTimeout(s.t.Context(), max(patience, s.longer))
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
