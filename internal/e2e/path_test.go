package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestPath is the product's main job: apply, pods get nodes and run, work leaves,
// nodes go, destroy leaves nothing.
func TestPath(t *testing.T) {
	s := newInstalled(t, filepath.Join("..", "..", "examples", "quickstart"))
	s.startHost()
	s.terraform("apply", "-auto-approve", "-no-color")
	manifest, err := os.ReadFile(s.Example("quickstart/workload.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.apply(string(manifest))
	for app, count := range map[string]int{"web": 12, "api": 20, "batch": 8, "cache": 3} {
		s.untilRunning(app, count)
	}
	s.until("all nodes are initialized", func(ctx context.Context) (bool, string, error) {
		nodes, err := s.nodes(ctx, "")
		up := 0
		for _, n := range nodes {
			if n.Labels[api.LabelInitialized] == "true" {
				up++
			}
		}
		return up == len(nodes), fmt.Sprintf("%d of %d", up, len(nodes)), err
	})
	s.checkPlacement()

	if plan := s.terraform("plan", "-no-color", "-detailed-exitcode"); !strings.Contains(plan, "No changes") {
		t.Errorf("a plan right after apply is not empty:\n%s", plan)
	}
	if err := s.ScaleAll(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	s.untilNoNodes("")
	s.terraform("destroy", "-auto-approve", "-no-color")
	left, err := s.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("destroy left behind: %v", left)
	}
}

// checkPlacement verifies, from the cluster alone, what the workload asks for.
func (s *scene) checkPlacement() {
	s.t.Helper()
	ctx := s.t.Context()
	nodes, err := s.nodes(ctx, "")
	if err != nil {
		s.t.Fatal(err)
	}
	byName := map[string]*corev1.Node{}
	for i := range nodes {
		byName[nodes[i].Name] = &nodes[i]
	}
	where := func(app, label string) map[string]int {
		pods, err := s.pods(ctx, "app="+app)
		if err != nil {
			s.t.Fatal(err)
		}
		out := map[string]int{}
		for _, p := range pods {
			if n := byName[p.Spec.NodeName]; n != nil {
				out[n.Labels[label]]++
			} else {
				s.t.Errorf("pod %s is on %q, which is no node of ours", p.Name, p.Spec.NodeName)
			}
		}
		return out
	}
	if got := where("api", api.LabelArch); got["arm64"] != 20 {
		s.t.Errorf("the pods of api are on %v, want 20 on arm64", got)
	}
	if got := where("batch", api.LabelProvisioner); got["batch"] != 8 {
		s.t.Errorf("the pods of batch are with %v, want 8 with batch", got)
	}
	zones := where("web", api.LabelZone)
	least, most := 12, 0
	for _, n := range zones {
		least, most = min(least, n), max(most, n)
	}
	if len(zones) != 3 || most-least > 1 {
		s.t.Errorf("the pods of web are spread as %v, want three zones with a skew of at most 1", zones)
	}
	if got := where("cache", "kubernetes.io/hostname"); len(got) != 3 {
		s.t.Errorf("the pods of cache are on %v, want three nodes", got)
	}
	for _, n := range nodes {
		if n.Spec.ProviderID == "" || len(n.Finalizers) == 0 {
			s.t.Errorf("node %s: provider id %q, finalizers %v", n.Name, n.Spec.ProviderID, n.Finalizers)
		}
	}
	if s.live("") != len(nodes) {
		s.t.Errorf("%d instances for %d nodes", s.live(""), len(nodes))
	}
}

// TestDestroyDrains destroys the configuration while pods run on its nodes.
func TestDestroyDrains(t *testing.T) {
	s := newScene(t)
	s.apply(deployment("busy", "default", 5, "500m", "256Mi"))
	s.untilRunning("busy", 5)
	s.terraform("destroy", "-auto-approve", "-no-color")
	s.until("the pods are pending again", func(ctx context.Context) (bool, string, error) {
		pods, err := s.pods(ctx, "app=busy")
		pending := 0
		for _, p := range pods {
			if p.Spec.NodeName == "" {
				pending++
			}
		}
		return pending == 5, fmt.Sprintf("%d of %d pending", pending, len(pods)), err
	})
	left, err := s.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("destroy left behind: %v", left)
	}
}
