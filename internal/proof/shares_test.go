package proof

import "testing"

// A domain has no more pods than the skew allows beside what the others get.
func TestMostInOneDomain(t *testing.T) {
	for name, c := range map[string]struct {
		pods, skew int64
		before     map[string]int64
		planned    map[string]int64
		want       int64
	}{
		"divided evenly":              {pods: 14, skew: 1, want: 5},
		"a wider skew":                {pods: 14, skew: 4, want: 7},
		"fewer than the skew":         {pods: 2, skew: 3, want: 2},
		"pods that are there":         {pods: 6, skew: 1, before: map[string]int64{"a": 5, "b": 5}, want: 6},
		"another domain has none":     {pods: 3, skew: 1, before: map[string]int64{"a": 1, "b": 1}, want: 2},
		"the plan has more":           {pods: 14, skew: 1, planned: map[string]int64{"b": 8}, want: 8},
		"one domain has pods already": {pods: 5, skew: 1, before: map[string]int64{"a": 9}, want: 3},
	} {
		r := spreadRule{domains: []string{"a", "b", "c"}, maxSkew: c.skew, pods: c.pods, planned: c.planned}
		if got := r.most(func(d string) int64 { return c.before[d] }); got != c.want {
			t.Errorf("%s: %d pods, want %d", name, got, c.want)
		}
	}
}
