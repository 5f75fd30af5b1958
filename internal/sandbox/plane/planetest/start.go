// Package planetest starts control planes for as long as a test runs.
package planetest

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/plane"
)

// Start starts a control plane in a folder of the test's, and stops it when the test ends.
func Start(t testing.TB) *plane.Plane {
	t.Helper()
	p, err := plane.Start(t.Context(), plane.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}
