package pack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLeastCost(t *testing.T) {
	sizes := []size{{column: 1, holds: 1, cost: 10}, {column: 2, holds: 3, cost: 24}, {column: 3, holds: 7, cost: 70}}
	for name, c := range map[string]struct {
		n    int64
		want []int64
	}{
		"none":                        {0, nil},
		"one":                         {1, []int64{1}},
		"three smaller for one large": {7, []int64{3, 3, 1}},
		"two small for less than one": {2, []int64{1, 1}},
		"two that are full":           {6, []int64{3, 3}},
	} {
		var got []int64
		for _, s := range leastCost(sizes, c.n) {
			got = append(got, s.holds)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
