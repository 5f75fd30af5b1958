package check_test

import (
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/check/corpus"
)

// TestCorpus checks that Object refuses what the API server refuses, at the same field,
// and nothing else. TestAPIServer of the module peercrds asks the API server.
func TestCorpus(t *testing.T) {
	cases, err := corpus.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			found := check.Object(c.Document).Errors()
			switch {
			case c.Refused == "" && len(found) > 0:
				t.Errorf("refused, although the API server takes it: %v", found)
			case c.Refused != "" && len(found) == 0:
				t.Errorf("taken, although the API server refuses it for %s", c.Refused)
			case c.Refused != "" && !strings.HasPrefix(found[0].Path, c.Refused):
				t.Errorf("refused for %s, want %s: %v", found[0].Path, c.Refused, found)
			}
		})
	}
}
