package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// buffer is a bytes.Buffer that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestUp starts a sandbox as people do, looks at it with kubectl through the file
// that it writes, and stops it.
func TestUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	dir := t.TempDir()
	var out, errOut buffer
	command := newCommand()
	command.SetArgs([]string{"up", "--dir", dir, "--cluster-name", "tried"})
	command.SetOut(&out)
	command.SetErr(&errOut)
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()

	for deadline := time.Now().Add(time.Minute); !strings.Contains(errOut.String(), "Ready."); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("up ended early: %v\n%s", err, errOut.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("up is not ready after a minute:\n%s", errOut.String())
		}
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(env) {
		t.Errorf("printed:\n%s\nwrote:\n%s", out.String(), env)
	}
	if strings.Contains(errOut.String(), "\x1b") {
		t.Errorf("colour without a terminal: %q", errOut.String())
	}

	t.Setenv("KUBECONFIG", filepath.Join(dir, "admin.kubeconfig"))
	var namespaces buffer
	kubectl := newCommand()
	kubectl.SetArgs([]string{"kubectl", "get", "namespaces", "--cache-dir", t.TempDir(), "-o", "name"})
	kubectl.SetOut(&namespaces)
	if err := kubectl.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(namespaces.String(), "namespace/kube-system") {
		t.Errorf("kubectl printed %q, want kube-system in it", namespaces.String())
	}

	cancel()
	if err := <-ended; err != nil {
		t.Errorf("up = %v, want no error after it was told to stop", err)
	}
}

func TestExportLinesSurviveTheShell(t *testing.T) {
	lines := exportLines([]string{"PLAIN=x", "ODD=it's $HOME = \"here\"", "EMPTY="})
	output, err := exec.Command("sh", "-c", lines+`printf '%s|%s|%s' "$PLAIN" "$ODD" "$EMPTY"`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(output), `x|it's $HOME = "here"|`; got != want {
		t.Errorf("the shell reads %s, want %s", got, want)
	}
}

func TestUpRefuses(t *testing.T) {
	tests := map[string]struct {
		args []string
		want string
	}{
		"a catalogue that does not exist": {args: []string{"--catalogue", "no-such.csv"}, want: "read catalogue: open no-such.csv"},
		"arguments":                       {args: []string{"now"}, want: "unknown command"},
		"a missing control plane":         {args: []string{"--control-plane", "no-such-binary"}, want: "make controlplane"},
		"more overhead than memory":       {args: []string{"--memory-overhead", "1.5"}, want: "memory overhead 1.5 is not in [0, 1)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			command := newCommand()
			command.SetArgs(append([]string{"up"}, test.args...))
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error = %v, want %q", err, test.want)
			}
		})
	}
}
