// Package planetest starts control planes for as long as a test runs.
package planetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

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

// Main runs the tests of a package beside a control plane that they share, and returns the
// code to exit with. Prepare is called once it is up.
func Main(m *testing.M, prepare func(*plane.Plane) error) int {
	code, err := run(m, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, prepare func(*plane.Plane) error) (code int, err error) {
	dir, err := os.MkdirTemp("", "plane-test-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	p, err := plane.Start(context.Background(), plane.Config{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := prepare(p); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// Patience bounds what a test waits for.
const Patience = time.Minute

// Within receives, or fails where nothing comes in time.
func Within[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(Patience):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

// Eventually polls until check returns nil, and fails the test with its last error if it does not within Patience.
func Eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, Patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}
