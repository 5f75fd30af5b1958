package peer

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
)

// TestSameCatalogue: what the peer is told about each type is what we know.
func TestSameCatalogue(t *testing.T) {
	list := workload.GPUs(0).Types
	got := InstanceTypes(list)
	if len(got) != len(list) {
		t.Fatalf("%d types, want %d", len(got), len(list))
	}
	for i := range list {
		ours, peers := &list[i], got[i]
		room := amount.FromResourceList(peers.Allocatable())
		for name, v := range ours.Allocatable() {
			if room[name] != v {
				t.Errorf("%s: %d of %s for the peer, %d for us", ours.Name, room[name], name, v)
			}
		}
		prices := map[string]float64{}
		for _, o := range peers.Offerings {
			prices[o.Requirements.Get("topology.kubernetes.io/zone").Any()] = o.Price
		}
		want := map[string]float64{}
		for _, o := range ours.Offerings {
			want[o.Zone] = o.Price.Dollars()
		}
		if diff := cmp.Diff(want, prices); diff != "" {
			t.Errorf("%s: -want +got\n%s", ours.Name, diff)
		}
		for key, values := range ours.Labels {
			if diff := cmp.Diff(values, slices.Sorted(slices.Values(peers.Requirements.Get(key).Values()))); diff != "" {
				t.Errorf("%s: %s: -want +got\n%s", ours.Name, key, diff)
			}
		}
	}
}

func TestSolve(t *testing.T) {
	w := workload.Daemons(40)
	task, err := NewTask(w)
	if err != nil {
		t.Fatal(err)
	}
	found, err := task.Solve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := task.Plan(&found)
	if err != nil {
		t.Fatal(err)
	}
	if faults := check.Faults(w, &p); len(faults) > 0 || p.Placed() != 40 || p.Price() <= 0 {
		t.Errorf("%d placed for %d, faults %q", p.Placed(), p.Price(), faults)
	}
	cheapest := slices.MinFunc(found.NewNodeClaims[0].InstanceTypeOptions, func(a, b *cloudprovider.InstanceType) int {
		return int(1e6*a.Offerings[0].Price) - int(1e6*b.Offerings[0].Price)
	})
	if got := p.Machines[0].Price.Dollars(); got > cheapest.Offerings[0].Price+1e-6 {
		t.Errorf("the first machine costs %v, the cheapest option %v", got, cheapest.Offerings[0].Price)
	}
}

func TestNodesAreRefused(t *testing.T) {
	if _, err := NewTask(workload.Fleet(1)); err == nil {
		t.Error("a workload with nodes was taken")
	}
}

func TestPoolHasNoLimits(t *testing.T) {
	p := Pool(workload.Daemons(1).Pools()[0])
	if p.Spec.Limits != nil || len(p.Spec.Template.Spec.Taints) != 1 {
		t.Errorf("limits %v, taints %v", p.Spec.Limits, p.Spec.Template.Spec.Taints)
	}
	keys := map[string]bool{}
	for _, r := range p.Spec.Template.Spec.Requirements {
		keys[r.Key] = true
	}
	if diff := cmp.Diff([]string{v1.CapacityTypeLabelKey, "kubernetes.io/arch", "kubernetes.io/os"}, slices.Sorted(maps.Keys(keys))); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
