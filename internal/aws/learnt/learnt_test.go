package learnt

import (
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Images are replaced for years. What nodes have shown with the current one is not forgotten, because they show it once.
func TestWhatPredictionsUseIsNotForgotten(t *testing.T) {
	l := New()
	const shown, types, settings = 7 << 30, 100, 10
	setting := func(i int) *api.KubeletConfiguration { return &api.KubeletConfiguration{MaxPods: ptr.To(int32(i))} }
	learn := func(kind int, image string, i int) {
		l.Add(offer.Observed{
			Node: "n", InstanceType: fmt.Sprint(kind), ImageID: image, Kubelet: setting(i),
			Capacity: amount.List{amount.Memory: shown}, Allocatable: amount.List{amount.Memory: shown - 1},
		})
	}
	forgotten := func(image string) (n int) {
		for kind := range types {
			for i := range settings {
				it := offer.InstanceType{Capacity: amount.List{amount.Memory: 8 << 30}, Overhead: amount.List{}}
				l.Correct(&it, Setup{Model{fmt.Sprint(kind), image}, KubeletKey(setting(i)), (*api.NodeProfile)(nil).SizeHash(), ""}, true)
				if it.Capacity[amount.Memory] != shown || it.Overhead[amount.Memory] != 1 {
					n++
				}
			}
		}
		return n
	}
	for kind := range types {
		for i := range settings {
			learn(kind, "lasts", i)
		}
	}
	for week := range 20 {
		image := fmt.Sprintf("ami-%d", week)
		for kind := range types {
			for i := range settings {
				learn(kind, image, i)
			}
			if kind%20 == 0 {
				forgotten("lasts") // as each turn predicts
			}
		}
		for _, image := range []string{image, "lasts"} {
			if n := forgotten(image); n > 0 {
				t.Errorf("week %d: %d of %d predictions for the image %s know nothing of what nodes have shown", week, n, types*settings, image)
			}
		}
		if len(l.memory) > maxEntries || len(l.allocatable) > maxEntries+1 || len(l.used) != len(l.memory) {
			t.Fatalf("week %d: %d models and %d settings are remembered, want at most %d", week, len(l.memory), len(l.allocatable), maxEntries)
		}
	}
}

// The name of a Provisioner may begin with a digit.
func TestStatesOfProvisionersDiffer(t *testing.T) {
	l := New()
	l.devised.Insert("2gpus", "gpus")
	l.version = 1
	before := l.State("2gpus")
	if l.version = 12; l.State("gpus") == before {
		t.Errorf("two Provisioners have the same state %q", before)
	}
}
