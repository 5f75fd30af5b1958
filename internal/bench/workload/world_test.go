package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// TestWorlds: a seed names a world, and what worlds promise to have is drawn.
func TestWorlds(t *testing.T) {
	seen := map[string]bool{}
	note := func(what string, is bool) { seen[what] = seen[what] || is }
	for seed := range uint64(40) {
		w := World(seed, 300)
		if seed < 3 {
			again := World(seed, 300)
			if diff := cmp.Diff([]any{w.Pods, w.Provisioners, w.Nodes, len(w.Types)}, []any{again.Pods, again.Provisioners, again.Nodes, len(again.Types)}); diff != "" {
				t.Fatalf("seed %d: two calls differ: -first +second\n%s", seed, diff)
			}
		}
		if len(w.Pods) < fewestPods || len(w.Pods) > 300 {
			t.Errorf("seed %d: %d pods", seed, len(w.Pods))
		}
		note("nodes", len(w.Nodes) > 0)
		note("daemons", len(w.Daemons) > 0)
		note("several pools", len(w.Provisioners) > 1)
		for _, p := range w.Provisioners {
			note("weight", p.Spec.Weight != nil)
			note("taints", len(p.Spec.Taints) > 0)
			note("labels", len(p.Spec.Labels) > 0)
			if p.Spec.Limits != nil {
				note("a limit that binds nothing", p.Spec.Limits.Resources.Cpu().Value() >= 1_000_000)
				note("a limit that may bind", p.Spec.Limits.Resources.Cpu().Value() < 1_000_000)
			}
		}
		for i := range w.Types {
			for _, o := range w.Types[i].Offerings {
				note(o.CapacityType, true)
			}
		}
		for _, p := range w.Pods {
			note("selector", p.Spec.NodeSelector[api.LabelInstanceFamily] != "")
			note("spread", len(p.Spec.TopologySpreadConstraints) > 0)
			note("tolerations", len(p.Spec.Tolerations) > 0)
			note("port", len(p.Spec.Containers[0].Ports) > 0)
			if a := p.Spec.Affinity; a != nil {
				note("affinity", a.PodAffinity != nil)
				note("anti-affinity", a.PodAntiAffinity != nil)
				note("node affinity", a.NodeAffinity != nil)
			}
		}
	}
	for _, what := range []string{
		"nodes", "daemons", "several pools", "weight", "taints", "labels", "a limit that binds nothing", "a limit that may bind",
		api.CapacitySpot, api.CapacityOnDemand, "selector", "spread", "tolerations", "port", "affinity", "anti-affinity", "node affinity",
	} {
		if !seen[what] {
			t.Errorf("no world has: %s", what)
		}
	}
}
