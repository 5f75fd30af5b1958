package worlds

import (
	"strings"
	"testing"
)

// TestTinyWorldsAreSolvedBest: no plan for some fixed tiny worlds has a fault, and none of the
// plans that there are is better. Each of 5029, 5128, 5213, 5227 and 5315 once cost 22 to 47 %
// too much, because zones were chosen before machines; in 116 a pod went without its only node.
func TestTinyWorldsAreSolvedBest(t *testing.T) {
	for _, seed := range []uint64{116, 1, 5, 5029, 5128, 5213, 5227, 5315} {
		w, err := MeasureTiny(seed, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		if w.Price != w.Best || w.Left != w.BestLeft || len(w.Faults) > 0 {
			t.Errorf("%s: %v", w, w.Faults)
		}
	}
}

func TestTinyTable(t *testing.T) {
	got := TinyTable([]*Tiny{
		{Seed: 1, Price: 2, Best: 2, Tried: true},
		{Seed: 2, Price: 2, Best: 1.5, Tried: true},
		{Seed: 3, Price: 1, Left: 1, Best: 2, Faults: []string{"too full"}},
	})
	for _, want := range []string{"3 tiny worlds", "tried in 2 of", "In 1, no plan", "| 3 | 1 | 0 | 1.0000 | 2.0000 |\n| 2 |", "seed 3 is faulty: too full"} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}
