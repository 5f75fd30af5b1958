package policy

import "testing"

func TestRulePrefix(t *testing.T) {
	for name, test := range map[string]struct {
		rules []string
		want  string
	}{
		"ours":              {[]string{"prod-health", "prod-spot"}, "prod"},
		"with dashes":       {[]string{"a-b-capacity-reservation"}, "a-b"},
		"somebody else's":   {[]string{"SpotInterruptions"}, ""},
		"theirs before one": {[]string{"Rebalance", "prod-state"}, "prod"},
		"none":              {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RulePrefix(test.rules); got != test.want {
				t.Errorf("RulePrefix(%v) = %q, want %q", test.rules, got, test.want)
			}
		})
	}
}
