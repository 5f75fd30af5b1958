package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// TestMain lets the test binary stand in for the program that `run` starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "measure" {
		main()
		return
	}
	os.Exit(m.Run())
}

func execute(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := root()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	first := filepath.Join(dir, "first.json")
	out, err := execute(t, "run", "--quick", "--cases", "^one-cold$", "--json", first,
		"--markdown", filepath.Join(dir, "bench.md"), "--images", filepath.Join(dir, "images"), "--commit", "v9")
	if err != nil || !strings.Contains(out, "one-cold") {
		t.Fatalf("%v: %s", err, out)
	}
	outcomes := read(t, first)
	if len(outcomes) != 1 || outcomes[0].Peer == nil || outcomes[0].Ours.Machines != 1 || outcomes[0].Ratio <= 0 {
		t.Fatalf("got %+v", outcomes)
	}
	for name, want := range map[string]string{"bench.md": "Packhorse: v9", "images/bench-price.svg": "one-cold", "images/bench-speed.svg": "one-cold"} {
		if got := file(t, filepath.Join(dir, name)); !strings.Contains(got, want) {
			t.Errorf("%s: no %q", name, want)
		}
	}
	second := filepath.Join(dir, "second.json")
	if _, err := execute(t, "run", "--runs", "2", "--cases", "^one-cold$", "--no-peer", "--peer-from", first, "--json", second); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "again.md")
	if out, err := execute(t, "report", "--from", first, "--markdown", again); err != nil || !strings.Contains(out, "one-cold") {
		t.Errorf("%v: %s", err, out)
	}
	if a, b := file(t, again), file(t, filepath.Join(dir, "bench.md")); a != b || a == "" {
		t.Errorf("the page written anew differs: %s\nfrom\n%s", a, b)
	}
	if got := read(t, second); len(got) != 1 || got[0].Runs != 2 || got[0].Peer == nil {
		t.Errorf("the peer's result was not taken over: %+v", got)
	}
}

func read(t *testing.T, path string) []suite.Outcome {
	t.Helper()
	m, err := readMeasurement(path)
	if err != nil {
		t.Fatal(err)
	}
	return m.Outcomes
}

func file(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestList(t *testing.T) {
	out, err := execute(t, "list")
	if err != nil || strings.Count(out, "\n") != len(suite.Cases) {
		t.Errorf("%v: %s", err, out)
	}
}

func TestMistakes(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown case":      {"measure", "--case", "none"},
		"bad expression":    {"run", "--cases", "("},
		"no such file":      {"run", "--cases", "^$", "--peer-from", filepath.Join(t.TempDir(), "none.json")},
		"unwritable output": {"run", "--cases", "^$", "--json", "/dev/null/x"},
	} {
		if out, err := execute(t, args...); err == nil {
			t.Errorf("%s: no error: %s", name, out)
		}
	}
}

// TestInterruption: a run that is interrupted ends with an error that says how far it came.
func TestInterruption(t *testing.T) {
	for _, command := range []string{"worlds", "tiny", "ablation"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cmd := root()
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		cmd.SetArgs([]string{command})
		if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted after 0 of") {
			t.Errorf("%s: got the error %v", command, err)
		}
	}
}

// TestTiny: the seeds of tiny worlds and what became of them are printed.
func TestTiny(t *testing.T) {
	out, err := execute(t, "tiny", "--seed", "5", "--seeds", "2", "--steps", "1000")
	if err != nil || !strings.Contains(out, "Seeds from 5.") || !strings.Contains(out, "2 tiny worlds") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSelectors: worlds may also be pods with selectors of many kinds, drawn by their seeds.
func TestSelectors(t *testing.T) {
	out, err := execute(t, "worlds", "--seed", "5", "--seeds", "2", "--selectors", "12")
	if err != nil || !strings.Contains(out, "Seeds 5 to 6.") || !strings.Contains(out, "gap to the bound, fewer pods | 2 |") {
		t.Errorf("%v: %s", err, out)
	}
}
