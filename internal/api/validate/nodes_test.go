package validate

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

func TestAdviceOnNodes(t *testing.T) {
	for in, out := range map[string]string{
		"3 nodes": `"3"`,
		"10 %":    `"10%"`,
		"2.5%":    `"2%"`,
		"200 %":   `"100%"`,
		"-1":      `"0"`,
		"a few":   `such as "3" or "10%"`,
	} {
		if got := adviseNodes(in).String(); !strings.Contains(got, out) {
			t.Errorf("advice on %q = %q, want %s in it", in, got, out)
		}
	}
}

// What is said to be valid is valid.
func FuzzAdvisedNodesAreValid(f *testing.F) {
	for _, text := range []string{"3 nodes", "007 w", "1.", "200 %"} {
		f.Add(text)
	}
	nearest := func(advice finding.Message) (string, bool) {
		value, ok := strings.CutPrefix(advice.String(), `the nearest valid value is "`)
		return strings.TrimSuffix(value, `"`), ok
	}
	f.Fuzz(func(t *testing.T, text string) {
		if value, ok := nearest(adviseNodes(text)); ok && validateBudgetNodes(value, nil) != nil {
			t.Errorf("nodes %q for %q: %s", value, text, validateBudgetNodes(value, nil))
		}
	})
}
