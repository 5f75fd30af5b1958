package stages

import (
	"os"
	"os/exec"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	// processes and goroutines make it near certain that a process dies where Prepare
	// is left out: one of twelve does.
	processes, goroutines = 60, 8
	// inChild is set in the environment of those processes.
	inChild = "TEST_PREPARE_CHILD"
)

// TestPrepare compiles stages for nodes and pods at once, as kwok does at its start, in
// processes of their own: what goes wrong ends the process.
func TestPrepare(t *testing.T) {
	if os.Getenv(inChild) != "" {
		compileAtOnce(t)
		return
	}
	for range processes {
		child := exec.Command(os.Args[0], "-test.run=^TestPrepare$")
		child.Env = append(os.Environ(), inChild+"=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Fatalf("a process that compiled stages for nodes and pods at once ended: %v\n%.500s", err, out)
		}
	}
}

func compileAtOnce(t *testing.T) {
	if err := Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range goroutines {
		object := []any{&corev1.Node{}, &corev1.Pod{}}[i%2]
		all.Go(func() {
			if err := compile(t.Context(), object); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
