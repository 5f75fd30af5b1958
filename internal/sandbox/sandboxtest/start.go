// Package sandboxtest starts sandboxes for as long as a test runs.
package sandboxtest

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/stage"
)

// Start starts a sandbox in a folder of the test's, and stops it when the test ends. What is
// to be done then comes after that, while the folder is still there. A component that ends
// before the test does fails it.
func Start(t testing.TB, o sandbox.Options, stopped ...func(*sandbox.Sandbox)) *sandbox.Sandbox {
	t.Helper()
	o.Dir = t.TempDir()
	box, err := sandbox.Start(t.Context(), o)
	if err != nil {
		t.Fatalf("start the sandbox: %v", err)
	}
	t.Cleanup(func() {
		if err := box.Err(); err != nil {
			t.Errorf("a component of the sandbox ended by itself: %v", err)
		}
		if err := box.Stop(); err != nil {
			t.Errorf("stop the sandbox: %v", err)
		}
		for _, then := range stopped {
			then(box)
		}
	})
	return box
}

// Stage starts a sandbox as Start does, with the clients and the tools of its users.
func Stage(t testing.TB, o sandbox.Options, stopped ...func(*sandbox.Sandbox)) *stage.Stage {
	t.Helper()
	s, err := stage.New(Start(t, o, stopped...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
