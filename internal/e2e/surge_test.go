package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestSurge moves pods of Deployments that ask for surge under the real controllers, while their
// readiness is probed once a second: for consolidation and for expiry, a single replica and all of three.
// PodDisruptionBudgets allow no eviction of them.
func TestSurge(t *testing.T) {
	s := newScene(t)
	const spec = `consolidation: {enabled: true}
disruption: {consolidateAfter: 1s, evictionCost: "0.001", budgets: [{nodes: 100%%}], drift: false}
requirements:
- {key: node.kubernetes.io/instance-type, operator: In, values: [%s]}
`
	s.apply(provisioner("surge", fmt.Sprintf(spec, "m6i.4xlarge")))
	replicas := map[string]int{"alone": 1, "several": 3}
	for app, n := range replicas {
		s.apply(fmt.Sprintf("apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: %[1]s}\nspec: {minAvailable: 100%%, selector: {matchLabels: {app: %[1]s}}}\n", app))
		s.apply(deployment(app, "surge", n, "400m", "1Gi"))
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, api.AnnotationSurge)
		if _, err := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault).Patch(t.Context(), app, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for app, n := range replicas {
		s.untilRunning(app, n)
	}
	s.longer = 2 * patience
	probe := s.probe(replicas)
	small := provisioner("surge", fmt.Sprintf(spec, "m6i.4xlarge, m6i.large"))
	s.apply(small)
	s.untilOn("the pods are on small nodes", replicas, func(n *corev1.Node) bool { return n.Labels[api.LabelInstanceType] == "m6i.large" })
	old := map[string]bool{}
	for _, n := range s.nodesOf("surge") {
		old[n.Name] = true
	}
	expiring := func(seconds int) string {
		return strings.Replace(small, "spec:\n", fmt.Sprintf("spec:\n  ttlSecondsUntilExpired: %d\n", seconds), 1)
	}
	s.apply(expiring(30))
	s.until("the nodes have expired", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "surge")
		return !slices.ContainsFunc(nodes, func(n corev1.Node) bool { return old[n.Name] }), fmt.Sprintf("%d nodes", len(nodes)), err
	})
	s.apply(expiring(86_400))
	s.untilOn("the pods are on other nodes", replicas, func(n *corev1.Node) bool { return !old[n.Name] })
	probe.end()
	t.Logf("%d probes, once a second: %d s with fewer ready replicas than wanted", probe.probes, len(probe.missed))
	if len(probe.missed) > 0 || probe.probes == 0 {
		t.Errorf("fewer replicas were ready than wanted: %v", probe.missed)
	}
	seen := s.metrics()
	if moved := seen[`packhorse_surges_total{outcome="moved",provisioner="surge"}`]; moved < 4 {
		t.Errorf("%.0f Deployments were moved by surge, want two of them twice", moved)
	}
}

// untilOn waits until the pods of the apps run on nodes of a kind, nothing of surge is left, and no other node is.
func (s *scene) untilOn(what string, replicas map[string]int, right func(*corev1.Node) bool) {
	s.t.Helper()
	s.until(what, func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "surge")
		if err != nil || len(nodes) == 0 {
			return false, "no nodes", err
		}
		for i := range nodes {
			if n := &nodes[i]; !right(n) || n.Annotations[api.AnnotationSurging] != "" || n.DeletionTimestamp != nil {
				return false, fmt.Sprintf("node %s: %v", n.Name, n.Annotations), nil
			}
		}
		for app, want := range replicas {
			d, err := s.Kube.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, app, metav1.GetOptions{})
			if err != nil || int(*d.Spec.Replicas) != want || int(d.Status.ReadyReplicas) != want || int(d.Status.Replicas) != want {
				return false, fmt.Sprintf("%s: %+v", app, d.Status), err
			}
		}
		return true, "", nil
	})
}

// probe counts ready pods once a second.
type probe struct {
	probes int
	missed []string
	stop   context.CancelFunc
	done   sync.WaitGroup
}

func (p *probe) end() {
	p.stop()
	p.done.Wait()
}

// probe begins to count the ready pods of apps, which should be so many.
func (s *scene) probe(replicas map[string]int) *probe {
	ctx, stop := context.WithCancel(s.t.Context())
	out := &probe{stop: stop}
	out.done.Go(func() {
		ticks := time.NewTicker(time.Second)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
			}
			for app, want := range replicas {
				pods, err := s.pods(ctx, "app="+app)
				if err != nil {
					continue // the probe has no answer
				}
				if got := readyPods(pods); got < want {
					out.missed = append(out.missed, fmt.Sprintf("%d of %d of %s at %s", got, want, app, time.Now().UTC().Format(time.TimeOnly)))
				}
			}
			out.probes++
		}
	})
	s.t.Cleanup(out.end)
	return out
}

// readyPods counts the pods that serve: they are ready, and nobody has asked them to stop.
func readyPods(pods []corev1.Pod) (ready int) {
	for i := range pods {
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && pods[i].DeletionTimestamp == nil {
				ready++
			}
		}
	}
	return ready
}
