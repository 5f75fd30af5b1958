package consolidate

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// A replacement for which minValues demand a candidate that saves nothing is none.
func TestRestrictKeepsWhatIsNeeded(t *testing.T) {
	candidate := func(name string, price offer.Price) offer.Candidate {
		return offer.Candidate{InstanceType: name, Zone: "a", CapacityType: api.CapacityOnDemand, Price: price}
	}
	cheap, near, dear := candidate("cheap", 100_000), candidate("near", 101_000), candidate("dear", 500_000)
	for name, c := range map[string]struct {
		needed []offer.Candidate
		want   bool
	}{
		"nothing is demanded":        {nil, true},
		"what is demanded saves too": {[]offer.Candidate{cheap, near}, true},
		"what is demanded is dear":   {[]offer.Candidate{cheap, dear}, false},
	} {
		t.Run(name, func(t *testing.T) {
			machines := []pack.Machine{{Cost: cheap.Price, Candidates: []offer.Candidate{cheap, near, dear}, Needed: c.needed}}
			replacement := Restrict(machines, 200_000, false)
			if _, possible := replacement.Saving(); possible != c.want {
				t.Errorf("possible: %t", possible)
			}
		})
	}
}

// Two spot machines that together save less than their number in the smallest unit of prices keep the planned
// candidates: none is left without any.
func TestRestrictForASmallSaving(t *testing.T) {
	spot := offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot, Price: 100_000}
	machine := pack.Machine{Cost: spot.Price, Candidates: []offer.Candidate{spot}}
	replacement := Restrict([]pack.Machine{machine, machine}, 2*spot.Price+1, true)
	if saving, possible := replacement.Saving(); possible || saving != 1 {
		t.Errorf("saving %d, possible %t; too few types could serve", saving, possible)
	}
	for _, m := range replacement.Machines {
		if len(m.Candidates) != 1 {
			t.Errorf("candidates %v", m.Candidates)
		}
	}
}
