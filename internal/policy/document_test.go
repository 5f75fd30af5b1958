package policy_test

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

func TestSameJSON(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"another order and white space": {`{"a": 1, "b": [2]}`, `{"b":[2],"a":1}`, true},
		"another order of a list":       {`[1, 2]`, `[2, 1]`, false},
		"the same that is no JSON":      {"a", "a", true},
		"one that is no JSON":           {"a", `"a"`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := policy.SameJSON(tt.a, tt.b); got != tt.want {
				t.Errorf("%s and %s: same = %v, want %v", tt.a, tt.b, got, tt.want)
			}
		})
	}
}
