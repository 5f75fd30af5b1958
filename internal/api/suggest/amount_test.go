package suggest

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

func duration(text string) finding.Message {
	wrong, advice := Duration(text)
	return finding.Say("%s; %s", wrong, advice)
}

func TestAdvice(t *testing.T) {
	tests := []struct {
		advise  func(string) finding.Message
		in, out string
	}{
		{Quantity, "10 cores", `"10"`},
		{Quantity, "20 GB", `"20G"`},
		{Quantity, "1.5GiB", `"1.5Gi"`},
		{Quantity, "500 millicores", `"500m"`},
		{Quantity, "3 parsecs", "such as 2Gi"},
		{Quantity, "much", "such as 2Gi"},
		{duration, "1 day", `"24h"`},
		{duration, "90 min", `"1h30m"`},
		{duration, "30", `"30s"`},
		{duration, "2.5 hours", `"2h30m"`},
		{duration, "99999999999 weeks", `must be at most 2562047h; the nearest valid value is "2562047h"`},
		{duration, "99999999h30m", `must be at most 2562047h; the nearest valid value is "2562047h"`},
		{duration, "a while", "such as 1h30m"},
		{duration, "1h 30m", "such as 1h30m"},
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
	for _, text := range []string{"10 cores", "1 day", "007 w", "1.", "0.0000000001 weeks", "99999999h"} {
		f.Add(text)
	}
	nearest := func(advice finding.Message) (string, bool) {
		value, ok := strings.CutPrefix(advice.String(), `the nearest valid value is "`)
		return strings.TrimSuffix(value, `"`), ok
	}
	f.Fuzz(func(t *testing.T, text string) {
		if value, ok := nearest(Quantity(text)); ok {
			if _, err := resource.ParseQuantity(value); err != nil {
				t.Errorf("quantity %q for %q: %v", value, text, err)
			}
		}
		_, advice := Duration(text)
		if value, ok := nearest(advice); ok {
			if _, err := time.ParseDuration(value); err != nil {
				t.Errorf("duration %q for %q: %v", value, text, err)
			}
		}
	})
}
