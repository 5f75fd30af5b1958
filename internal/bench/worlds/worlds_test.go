package worlds

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/ours"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/workload"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// TestWorldsAreSound: no plan for a fixed few worlds has a fault, and the peer places
// no pod that ours leaves over.
func TestWorldsAreSound(t *testing.T) {
	for seed := range uint64(8) {
		w, err := Measure(t.Context(), seed, Options{Pods: 200, PeerPods: 60})
		if err != nil {
			t.Fatal(err)
		}
		if len(w.Faults) > 0 {
			t.Errorf("seed %d: %v", seed, w.Faults)
		}
		if w.Peer != nil && len(w.Peer.Faults) == 0 && w.Unplaced > w.Peer.Unplaced {
			t.Errorf("seed %d: %d pods left over, %d by the peer", seed, w.Unplaced, w.Peer.Unplaced)
		}
	}
}

// TestMetamorphosesChangeTheInput: each of them does what it says.
func TestMetamorphosesChangeTheInput(t *testing.T) {
	for _, m := range metamorphosesOf {
		w := workload.World(5, 100)
		changed := clone(w)
		m.change(changed)
		before, after := ours.Input(w, 0), ours.Input(changed, 0)
		same := cmp.Equal(before.Snapshot, after.Snapshot) && len(before.Provisioners) == len(after.Provisioners)
		for i := range before.Provisioners {
			a, b := before.Provisioners[i].Spec.Spec, after.Provisioners[i].Spec.Spec
			same = same && len(a.Taints) == len(b.Taints) && (a.Limits == nil || len(a.Limits.Resources) == len(b.Limits.Resources))
		}
		if same {
			t.Errorf("%s changes nothing", m.name)
		}
	}
}

func TestTable(t *testing.T) {
	all := []*World{
		{Seed: 1, Pods: 600, Price: 11, Proven: 10, Peer: &Peer{Price: 22}},
		{Seed: 2, Pods: 600, Price: 10.1, Proven: 10, Faults: []string{"too full"}, Changes: []string{"one pod more: dear"}},
	}
	got := Table(all)
	for _, want := range []string{"| gap to the bound, 500 pods and more | 2 | 10.00 % |", "1 (10.00 %)", "50.0 %", "seed 2 is faulty: too full", "Plans changed by one pod more: 1 of 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestRenderLeavesNamesOut(t *testing.T) {
	a, err := render(&decide.Plan{Machines: []decide.Machine{{Name: "a", Labels: map[string]string{"x": "y"}}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := render(&decide.Plan{Machines: []decide.Machine{{Name: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// TestNodesAreFilledForMostPods: where limits leave pods over, a plan leaves no more of them over than one that does
// not fill nodes evenly. In this world, those were 18.
func TestNodesAreFilledForMostPods(t *testing.T) {
	left := func(without ...assign.Heuristic) int {
		in := ours.Input(workload.World(42, 4000), 0)
		in.Settings.Without = without
		return len(decide.Decide(in).Unplaced)
	}
	if both, uneven := left(), left(assign.EvenNodes); both > uneven {
		t.Errorf("%d pods are left over, and %d if nodes are not filled evenly", both, uneven)
	}
}
