package purchase

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign/assigntest"
)

func TestLeastCost(t *testing.T) {
	sizes := []size{{offering: 1, holds: 1, cost: 10}, {offering: 2, holds: 3, cost: 24}, {offering: 3, holds: 7, cost: 70}}
	for name, c := range map[string]struct {
		n, more int64
		worth   float64
		want    []int64
	}{
		"none":                        {n: 0},
		"one":                         {n: 1, want: []int64{1}},
		"three smaller for one large": {n: 7, want: []int64{3, 3, 1}},
		"two small for less than one": {n: 2, want: []int64{1, 1}},
		"two that are full":           {n: 6, want: []int64{3, 3}},
		"room that is worth its cost": {n: 2, more: 2, worth: 5, want: []int64{3}},
		"room worth less than that":   {n: 2, more: 2, worth: 3, want: []int64{1, 1}},
		"no use for so much room":     {n: 4, more: 1, worth: 6, want: []int64{3, 1}},
		"use for it":                  {n: 4, more: 2, worth: 7.5, want: []int64{3, 3}},
	} {
		var got []int64
		for _, s := range leastCost(sizes, c.n, c.more, c.worth) {
			got = append(got, s.holds)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// A limit that is exceeded already keeps nothing from being bought that does not add to it.
func TestBuyEqualUnderExceededLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits amount.List
		want   bool
	}{
		"devices, which the machines do not have": {amount.List{"example.com/device": 1}, true},
		"cores, of which there are too few":       {amount.List{amount.CPU: 34_000}, false},
	} {
		p := assigntest.LimitedTo(0, assigntest.PodsOf{N: 10, CPU: 1000})
		p.Charged = map[string]amount.List{"default": {"example.com/device": 2, amount.CPU: 30_000}}
		pu, groups := buying(p, assign.Limits{c.limits})
		if b := buyEqual(newRequest(pu.buying, groups, pu.Selling, pu.Remaining())); (b != nil) != c.want {
			t.Errorf("%s: bought %v, want %v", name, b != nil, c.want)
		}
	}
}
