package lifecycle

import "testing"

// Only what the plan has shown is taken from others.
func TestForeseen(t *testing.T) {
	before := map[string]any{"weight": int64(20), "labels": map[string]any{"example.com/team": "b"}}
	for name, c := range map[string]struct {
		fields []string
		live   map[string]any
		want   bool
	}{
		"no conflict":                   {nil, before, false},
		"as the plan has seen it":       {[]string{".spec.weight"}, before, true},
		"names with dots":               {[]string{".spec.labels.example.com/team", ".spec.weight"}, before, true},
		"changed since the plan":        {[]string{".spec.weight"}, map[string]any{"weight": int64(30)}, false},
		"one of two":                    {[]string{".spec.weight", ".spec.labels.example.com/team"}, map[string]any{"weight": int64(20)}, false},
		"what was never declared":       {[]string{".spec.ttlSecondsAfterEmpty"}, map[string]any{"ttlSecondsAfterEmpty": int64(1)}, false},
		"an object that cannot be read": {[]string{".spec.weight"}, nil, false},
	} {
		var conflicts []Conflict
		for _, field := range c.fields {
			conflicts = append(conflicts, Conflict{field, "kubectl"})
		}
		if got := InPlan(conflicts, before, c.live); got != c.want {
			t.Errorf("%s: foreseen = %t, want %t", name, got, c.want)
		}
	}
}
