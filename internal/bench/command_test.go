package main

import (
	"bytes"
	"encoding/json"
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
	for file, want := range map[string]string{"bench.md": "Packhorse: v9", "images/bench-price.svg": "one-cold", "images/bench-speed.svg": "one-cold"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: no %q (%v)", file, want, err)
		}
	}
	second := filepath.Join(dir, "second.json")
	if _, err := execute(t, "run", "--runs", "2", "--cases", "^one-cold$", "--no-peer", "--peer-from", first, "--json", second); err != nil {
		t.Fatal(err)
	}
	if got := read(t, second); len(got) != 1 || got[0].Runs != 2 || got[0].Peer == nil {
		t.Errorf("the peer's result was not taken over: %+v", got)
	}
}

func read(t *testing.T, path string) []suite.Outcome {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []suite.Outcome
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
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
