package purchase

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
