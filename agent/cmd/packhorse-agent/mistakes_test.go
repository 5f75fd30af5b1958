package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMistakes holds what validate says about mistakes that people make. Review a
// change of the golden file as a reader who has just made the mistake.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	var b strings.Builder
	for _, file := range files {
		out, _ := execute(t, validateCommand(), "-f", file)
		name := filepath.Base(file)
		b.WriteString("== " + name + "\n" + strings.ReplaceAll(out, file, name) + "\n")
	}
	const golden = "testdata/mistakes.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("messages; -update writes %s anew (-want +got):\n%s", golden, diff)
	}
}
