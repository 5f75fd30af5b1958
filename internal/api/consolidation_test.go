package api

import (
	"os"
	"strings"
	"testing"
)

// Every page on which somebody may read of consolidation says what it does not do yet,
// in the words of all programs.
func TestDocsSayWhatIsNotConsolidated(t *testing.T) {
	for _, page := range []string{"resources/provisioner.md", "guides/moving-from-karpenter.md", "metrics.md"} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), UsedNotConsolidated) {
			t.Errorf("docs/%s does not say %q", page, UsedNotConsolidated)
		}
	}
}
