package topology

import (
	"os/exec"
	"testing"
)

// TestAKindIsOneFile: the patch that shows what a new kind of constraint takes still applies.
func TestAKindIsOneFile(t *testing.T) {
	cmd := exec.Command("git", "apply", "--check", "docs/adr/0009-at-most-per-zone.patch")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
