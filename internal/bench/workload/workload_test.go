package workload

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

var generators = map[string]func(int) *Workload{
	"mixed": Mixed, "mixed up to 32": MixedUpTo32, "mixed everywhere": MixedEverywhere, "selectors": Selectors,
	"selectors up to 32": SelectorsUpTo32, "uniform": Uniform, "unique": Unique, "spread": SpreadDeployments,
	"daemons": Daemons, "diverse": Diverse, "prefer apart": PreferApart, "gpus": GPUs, "fleet": Fleet,
	"over limits": UniqueOverLimits, "teams": Teams, "tenants": Tenants,
}

func TestGeneratorsAreRepeatable(t *testing.T) {
	for name, generate := range generators {
		t.Run(name, func(t *testing.T) {
			a, b := generate(2000), generate(2000)
			if len(a.Pods) != 2000 {
				t.Fatalf("got %d pods, want 2000", len(a.Pods))
			}
			if diff := cmp.Diff(a, b); diff != "" {
				t.Errorf("two calls differ: -first +second\n%s", diff)
			}
			names := map[string]bool{}
			for _, p := range a.Pods {
				names[p.Name+string(p.UID)] = true
			}
			if len(names) != len(a.Pods) {
				t.Errorf("%d names for %d pods", len(names), len(a.Pods))
			}
		})
	}
}

// TestTypes: everything is sold on demand in three zones at most, in order.
func TestTypes(t *testing.T) {
	for name, generate := range generators {
		t.Run(name, func(t *testing.T) {
			w := generate(25)
			if diff := cmp.Diff(zones, w.Zones()); diff != "" {
				t.Errorf("zones: -want +got\n%s", diff)
			}
			for i := range w.Types {
				typ := &w.Types[i]
				if i > 0 && w.Types[i-1].Name >= typ.Name {
					t.Errorf("%s comes after %s", typ.Name, w.Types[i-1].Name)
				}
				for _, o := range typ.Offerings {
					if o.CapacityType != api.CapacityOnDemand || o.Price <= 0 {
						t.Errorf("%s is offered as %+v", typ.Name, o)
					}
				}
				if typ.Allocatable()[amount.CPU] <= 0 || typ.Allocatable()[amount.Memory] <= 0 {
					t.Errorf("%s has no room: %v", typ.Name, typ.Allocatable())
				}
			}
		})
	}
}

func TestFilters(t *testing.T) {
	all, general, small := len(MixedEverywhere(0).Types), len(Mixed(0).Types), MixedUpTo32(0).Types
	if all <= general || general <= len(small) || len(small) < 300 {
		t.Errorf("%d types, %d general ones, %d small ones", all, general, len(small))
	}
	for i := range small {
		if c, _ := small[i].Label(api.LabelInstanceCategory); !slices.Contains([]string{"c", "m", "r"}, c) || small[i].Capacity[amount.CPU] > 32_000 {
			t.Errorf("%s is not a general type of up to 32 vCPUs", small[i].Name)
		}
	}
	most := int64(0)
	gpus := GPUs(0).Types
	for i := range gpus {
		most = max(most, gpus[i].Capacity[gpuResource])
	}
	if most < 8 {
		t.Errorf("no type has 8 GPUs: the most is %d", most)
	}
}

// share counts the pods that are as told.
func share(w *Workload, is func(*corev1.Pod) bool) float64 {
	n := 0
	for _, p := range w.Pods {
		if is(p) {
			n++
		}
	}
	return float64(n) / float64(len(w.Pods))
}

func TestMixes(t *testing.T) {
	selects := func(key string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return p.Spec.NodeSelector[key] != "" }
	}
	spreads := func(key string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool {
			return slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(s corev1.TopologySpreadConstraint) bool { return s.TopologyKey == key })
		}
	}
	repels := func(p *corev1.Pod) bool { return p.Spec.Affinity != nil && p.Spec.Affinity.PodAntiAffinity != nil }
	requires := func(p *corev1.Pod) bool {
		return repels(p) && len(p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	}
	gpu := func(p *corev1.Pod) bool {
		_, ok := p.Spec.Containers[0].Resources.Requests[gpuResource]
		return ok
	}
	for name, c := range map[string]struct {
		work *Workload
		is   func(*corev1.Pod) bool
		want float64
	}{
		"a fifth selects a zone":                   {Selectors(5000), selects(corev1.LabelTopologyZone), 0.2},
		"three tenths select an architecture":      {Selectors(5000), selects(corev1.LabelArchStable), 0.3},
		"a fifth is spread over zones":             {Diverse(5000), spreads(corev1.LabelTopologyZone), 0.2},
		"a fifth is spread over hosts":             {Diverse(5000), spreads(corev1.LabelHostname), 0.2},
		"a fifth keeps apart":                      {Diverse(5000), requires, 0.2},
		"all would rather keep apart":              {PreferApart(500), repels, 1},
		"none must":                                {PreferApart(500), requires, 0},
		"all deployments are spread over zones":    {SpreadDeployments(5000), spreads(corev1.LabelTopologyZone), 1},
		"a fifth of the deployments keeps apart":   {SpreadDeployments(5000), requires, 0.2},
		"86 % of the trace's common pods use GPUs": {GPUs(5000), gpu, 0.86},
	} {
		t.Run(name, func(t *testing.T) {
			if got := share(c.work, c.is); got < c.want-0.02 || got > c.want+0.02 {
				t.Errorf("got a share of %.3f, want %.2f", got, c.want)
			}
		})
	}
}

func TestClasses(t *testing.T) {
	for name, c := range map[string]struct {
		work        *Workload
		least, most int
	}{
		"uniform": {Uniform(10_000), 40, 40},
		"mixed":   {Mixed(10_000), 30, 40},
		"unique":  {Unique(5000), 4900, 5000},
		"fleet":   {Fleet(10_000), 900, 1000},
	} {
		seen := map[string]bool{}
		for _, p := range c.work.Pods {
			seen[fmt.Sprint(p.Labels, amount.FromResourceList(p.Spec.Containers[0].Resources.Requests))] = true
		}
		if len(seen) < c.least || len(seen) > c.most {
			t.Errorf("%s: %d classes, want %d to %d", name, len(seen), c.least, c.most)
		}
	}
}

// TestFleetIsInOrder: what runs on the nodes fits there.
func TestFleetIsInOrder(t *testing.T) {
	w := Fleet(10)
	if len(w.Nodes) != fleetNodes || len(w.Running) != fleetNodes {
		t.Fatalf("%d nodes with %d pods, want %d", len(w.Nodes), len(w.Running), fleetNodes)
	}
	for i, p := range w.Running {
		n := w.Nodes[i]
		need, room := amount.FromResourceList(p.Spec.Containers[0].Resources.Requests), amount.FromResourceList(n.Status.Allocatable)
		if p.Spec.NodeName != n.Name || !need.Fits(room) {
			t.Errorf("pod %s with %v on %s with %v", p.Name, need, n.Name, room)
		}
	}
}
