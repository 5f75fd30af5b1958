package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var patchedFile = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// TestExampleConstraint holds that the patch of ADR 9, which shows what a new kind of constraint
// takes, applies to the code as it is, that the tests of package topology and its own pass, and that
// there is room for it in the packages that it changes. The patch is built from copies of the files
// that it changes.
func TestExampleConstraint(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	patch := filepath.Join(root, "docs", "adr", "0009-at-most-per-zone.patch")
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	copies, replaced := t.TempDir(), map[string]string{}
	for _, found := range patchedFile.FindAllStringSubmatch(string(text), -1) {
		name := filepath.FromSlash(found[1])
		replaced[filepath.Join(root, name)] = filepath.Join(copies, name)
		copyIfThere(t, filepath.Join(root, name), filepath.Join(copies, name))
	}
	apply := exec.Command("git", "apply", patch)
	apply.Dir, apply.Env = copies, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(copies))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v: write the patch anew for the code as it is\n%s", err, out)
	}
	overlay := filepath.Join(copies, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	for pkg, which := range map[string]string{"topology": ".", "pack": "MostPerZone"} {
		test := exec.Command("go", "test", "-v", "-overlay", overlay, "-run", which, "./internal/"+pkg)
		test.Dir = root
		out, err := test.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestMostPerZone") {
			t.Fatalf("go test with the patch: %v\n%s", err, out)
		}
	}
	leavesRoom(t, replaced)
}

// leavesRoom holds that packages are not too large with files in the place of theirs.
func leavesRoom(t *testing.T, replaced map[string]string) {
	t.Helper()
	more := map[string]int{}
	for original, file := range replaced {
		if !strings.HasSuffix(file, "_test.go") && filepath.Ext(file) == ".go" {
			more[filepath.Dir(original)] += linesOf(t, file) - linesOf(t, original)
		}
	}
	for dir, n := range more {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(filepath.Base(file), "zz_generated") {
				n += linesOf(t, file)
			}
		}
		if n > maxPackageLines {
			t.Errorf("%s has %d lines with the patch, the limit is %d: nobody can add a kind of constraint", dir, n, maxPackageLines)
		}
	}
}

// linesOf counts the lines of a file; 0 if there is none.
func linesOf(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// copyIfThere copies a file, unless the patch creates it.
func copyIfThere(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
