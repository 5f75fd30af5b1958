package consolidate

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/pack"
)

// A replacement for which minValues demand a candidate that saves nothing is none.
func TestRestrictKeepsWhatIsNeeded(t *testing.T) {
	candidate := func(name string, price offer.Price) offer.Candidate {
		return offer.Candidate{InstanceType: name, Zone: "a", CapacityType: api.CapacityOnDemand, Price: price}
	}
	cheap, near, half, costly := candidate("cheap", 100_000), candidate("near", 101_000), candidate("half", 150_000), candidate("costly", 500_000)
	for name, c := range map[string]struct {
		needed, left []offer.Candidate
		saving       offer.Price
		why          string
	}{
		"nothing is demanded":                  {nil, []offer.Candidate{cheap, near}, 99_000, ""},
		"what is demanded saves as much":       {[]offer.Candidate{cheap, near}, []offer.Candidate{cheap, near}, 99_000, ""},
		"what is demanded saves half as much":  {[]offer.Candidate{cheap, half}, []offer.Candidate{cheap, near, half}, 50_000, ""},
		"what is demanded costs more than now": {[]offer.Candidate{cheap, costly}, []offer.Candidate{cheap, near}, 99_000, neededSaveNothing},
	} {
		t.Run(name, func(t *testing.T) {
			machines := []pack.Machine{{Cost: cheap.Price, Candidates: []offer.Candidate{cheap, near, half, costly}, Needed: c.needed}}
			replacement := Restrict(machines, 200_000, false)
			if saving, why := replacement.Saving(); why != c.why || saving != c.saving {
				t.Errorf("saves %d, refused because %q; want %d, %q", saving, why, c.saving, c.why)
			}
			if diff := cmp.Diff(c.left, replacement.Machines[0].Candidates); diff != "" {
				t.Errorf("candidates: -want +got:\n%s", diff)
			}
		})
	}
}

// Whatever is bought in the place of a spot node saves what is promised: only the cheapest of the types that could
// serve are asked for, but enough of them.
func TestRestrictForSpot(t *testing.T) {
	machine := func(types int, needed ...offer.Candidate) pack.Machine {
		m := pack.Machine{Cost: 80_000, Needed: needed}
		for i := range types {
			for _, zone := range []string{"a", "b"} {
				m.Candidates = append(m.Candidates, offer.Candidate{InstanceType: fmt.Sprint("m", i), Zone: zone, CapacityType: api.CapacitySpot, Price: 80_000 + 2_000*offer.Price(i)})
			}
		}
		return m
	}
	last := machine(20).Candidates[38]
	for name, c := range map[string]struct {
		machine         pack.Machine
		types           int
		saving, forgone offer.Price
	}{
		"more types than are necessary": {machine(40), 15, 42_000, 0},
		"as many as are necessary":      {machine(15), 15, 42_000, 0},
		"too few":                       {machine(14), 14, 44_000, 70_000},
		"more are demanded":             {machine(40, last), 20, 32_000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			replacement := Restrict([]pack.Machine{c.machine}, 150_000, true)
			saving, why := replacement.Saving()
			left := replacement.Machines[0].Candidates
			if saving != c.saving || replacement.forgone != c.forgone || (why != "") != (c.forgone > 0) || types(left) != c.types || len(left) != 2*c.types {
				t.Errorf("saving %d, forgone %d because %q, %d candidates of %d types left", saving, replacement.forgone, why, len(left), types(left))
			}
			if most := 150_000 - highestPrice(left); saving > most {
				t.Errorf("saving %d, but the most expensive candidate saves %d", saving, most)
			}
		})
	}
	// Where minValues keep a spot node, the rule forgoes nothing, whichever machine is looked at first.
	few, costly := machine(14), offer.Candidate{InstanceType: "dear", Zone: "a", CapacityType: api.CapacitySpot, Price: 160_000}
	demanding := machine(14, costly)
	demanding.Candidates = append(demanding.Candidates, costly)
	for _, machines := range [][]pack.Machine{{demanding}, {few, demanding}, {demanding, few}} {
		replacement := Restrict(machines, 80_000*offer.Price(len(machines))+70_000, true)
		if _, why := replacement.Saving(); why != neededSaveNothing || replacement.forgone != 0 {
			t.Errorf("%d machines: forgone %d because %q, want nothing because of minValues", len(machines), replacement.forgone, why)
		}
	}
}

// Two spot machines that together save less than their number in the smallest unit of prices keep the planned
// candidates: none is left without any.
func TestRestrictForASmallSaving(t *testing.T) {
	spot := offer.Candidate{InstanceType: "m5.large", Zone: "a", CapacityType: api.CapacitySpot, Price: 100_000}
	machine := pack.Machine{Cost: spot.Price, Candidates: []offer.Candidate{spot}}
	replacement := Restrict([]pack.Machine{machine, machine}, 2*spot.Price+1, true)
	if saving, why := replacement.Saving(); why == "" || saving != 1 {
		t.Errorf("saving %d, and nothing refuses it; too few types could serve", saving)
	}
	for _, m := range replacement.Machines {
		if len(m.Candidates) != 1 {
			t.Errorf("candidates %v", m.Candidates)
		}
	}
}
