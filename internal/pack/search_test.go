package pack

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// wasteful draws a problem of a few kinds of pods that seldom fill a machine.
func wasteful(t *rapid.T) *Problem {
	var groups []podsOf
	for range rapid.IntRange(2, 12).Draw(t, "groups") {
		groups = append(groups, podsOf{n: rapid.IntRange(1, 12).Draw(t, "pods"), cpu: 100 * rapid.Int64Range(3, 45).Draw(t, "cpu")})
	}
	return limitedTo(0, groups...)
}

// TestMoreBudgetIsNeverWorse: what a longer search finds is no dearer, and all pods keep
// a place.
func TestMoreBudgetIsNeverWorse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := wasteful(t)
		price := func(ruins int) int64 {
			s := newSolver(p, make(limits, 1), model.NewEffort(p.Pods, 0))
			s.purchasing.buying.searches, s.purchasing.buying.patient = ruins, true
			s.rounds()
			if s.unplaced() > 0 {
				t.Fatalf("%d pods have no place", s.unplaced())
			}
			return int64(prover{s.Assignment}.price())
		}
		before := price(0)
		for _, ruins := range []int{500, 3000, 9000} {
			after := price(ruins)
			// The cost of having machines is not part of the price.
			if after > before {
				t.Fatalf("%d trials more make it cost %d instead of %d", ruins, after, before)
			}
			before = after
		}
	})
}

// TestSearchPays: a purchase that greedy packing leaves wasteful becomes cheaper.
func TestSearchPays(t *testing.T) {
	saved := 0
	for n := range 12 {
		var groups []podsOf
		for g := range 9 {
			groups = append(groups, podsOf{n: 3 + (n*7+g*5)%6, cpu: 500 + 100*int64((n*13+g*11)%37)})
		}
		p := limitedTo(0, groups...)
		price := func(ruins int) float64 {
			s := newSolver(p, make(limits, 1), model.NewEffort(p.Pods, 0))
			s.purchasing.buying.searches, s.purchasing.buying.patient = ruins, true
			s.rounds()
			return prover{s.Assignment}.price()
		}
		if price(20_000) < price(0) {
			saved++
		}
	}
	if saved == 0 {
		t.Error("the search saved on none of 12 purchases")
	}
}
