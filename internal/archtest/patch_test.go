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
// takes, applies to the code as it is, and that its own tests pass. The patch is built from
// copies of the files that it changes.
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
	test := exec.Command("go", "test", "-v", "-overlay", overlay, "-run", "MostPerZone", "./internal/topology", "./internal/pack")
	test.Dir = root
	out, err := test.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: ") < 2 {
		t.Fatalf("go test with the patch: %v\n%s", err, out)
	}
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
