package install

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/installation.md lists the ranges.
func TestRangesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range ranges {
		row := fmt.Sprintf("| `%s` | %s | %s |", name, r.text(r.Least), r.text(r.Most))
		if _, option := options[name]; !option && name != "replicas" { // a flag of another command
			row = fmt.Sprintf("from %s to %s", r.text(r.Least), r.text(r.Most))
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("the page has no %q for %s", row, name)
		}
	}
}
