package api

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

func TestAdvice(t *testing.T) {
	tests := []struct {
		advise  func(string) finding.Message
		in, out string
	}{
		{adviseQuantity, "10 cores", `"10"`},
		{adviseQuantity, "20 GB", `"20G"`},
		{adviseQuantity, "1.5GiB", `"1.5Gi"`},
		{adviseQuantity, "500 millicores", `"500m"`},
		{adviseQuantity, "3 parsecs", "such as 2Gi"},
		{adviseQuantity, "much", "such as 2Gi"},
		{adviseDuration, "1 day", `"24h"`},
		{adviseDuration, "90 min", `"1h30m"`},
		{adviseDuration, "30", `"30s"`},
		{adviseDuration, "2.5 hours", `"2h30m"`},
		{adviseDuration, "99999999999 weeks", "such as 1h30m"},
		{adviseDuration, "a while", "such as 1h30m"},
		{adviseNodes, "3 nodes", `"3"`},
		{adviseNodes, "10 %", `"10%"`},
		{adviseNodes, "2.5%", `"2%"`},
		{adviseNodes, "200 %", `"100%"`},
		{adviseNodes, "-1", `"0"`},
		{adviseNodes, "a few", `such as "3" or "10%"`},
	}
	for _, tt := range tests {
		got := tt.advise(tt.in).String()
		if !strings.Contains(got, tt.out) {
			t.Errorf("advice on %q = %q, want %s in it", tt.in, got, tt.out)
		}
	}
}

// What is said to be valid is valid.
func FuzzAdvisedAmountsAreValid(f *testing.F) {
	for _, text := range []string{"10 cores", "1 day", "3 nodes", "007 w", "1.", "200 %", "0.0000000001 weeks"} {
		f.Add(text)
	}
	nearest := func(advice finding.Message) (string, bool) {
		value, ok := strings.CutPrefix(advice.String(), `the nearest valid value is "`)
		return strings.TrimSuffix(value, `"`), ok
	}
	f.Fuzz(func(t *testing.T, text string) {
		if value, ok := nearest(adviseQuantity(text)); ok {
			if _, err := resource.ParseQuantity(value); err != nil {
				t.Errorf("quantity %q for %q: %v", value, text, err)
			}
		}
		if value, ok := nearest(adviseDuration(text)); ok {
			if _, err := time.ParseDuration(value); err != nil {
				t.Errorf("duration %q for %q: %v", value, text, err)
			}
		}
		if value, ok := nearest(adviseNodes(text)); ok && validateBudgetNodes(value, nil) != nil {
			t.Errorf("nodes %q for %q: %s", value, text, validateBudgetNodes(value, nil))
		}
	})
}
