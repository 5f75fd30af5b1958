package release

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// released returns the folder of the release that `make release` has just made, and its
// version.
func released(t *testing.T) (folder, version string) {
	t.Helper()
	folder, version = os.Getenv("RELEASE"), os.Getenv("RELEASE_VERSION")
	if folder == "" || version == "" {
		t.Fatal("RELEASE and RELEASE_VERSION are not set: `make release` runs this test with the files that it has made")
	}
	return folder, version
}

// sums reads SHA256SUMS: digests by the names of files.
func sums(t *testing.T, folder, version string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "terraform-provider-packhorse_"+version+"_SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		out[name] = digest
	}
	return out
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// TestReleasedFiles checks that everything is there, that the checksums cover the archives
// and the manifest, and that the provenance covers every other file.
func TestReleasedFiles(t *testing.T) {
	folder, version := released(t)
	listed := sums(t, folder, version)
	var want []string
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, arch := range []string{"amd64", "arm64"} {
			want = append(want, fmt.Sprintf("terraform-provider-packhorse_%s_%s_%s.zip", version, system, arch))
			if system != "windows" {
				want = append(want, fmt.Sprintf("packhorse-agent_%s_%s_%s.tar.gz", version, system, arch))
			}
		}
	}
	want = append(want, "terraform-provider-packhorse_"+version+"_manifest.json")
	for _, name := range want {
		if got := digestOf(t, filepath.Join(folder, name)); listed[name] != got {
			t.Errorf("SHA256SUMS has %q for %s, which has %s", listed[name], name, got)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "provenance.intoto.json"))
	if err != nil {
		t.Fatal(err)
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
	}
	if err := json.Unmarshal(text, &statement); err != nil {
		t.Fatal(err)
	}
	for _, s := range statement.Subject {
		if got := digestOf(t, filepath.Join(folder, s.Name)); got != s.Digest.SHA256 {
			t.Errorf("the provenance has %s for %s, which has %s", s.Digest.SHA256, s.Name, got)
		}
	}
	for _, name := range append(want, "image/index.json", "packhorse-agent-"+version+".tgz") {
		if !strings.Contains(string(text), `"`+name+`"`) {
			t.Errorf("the provenance does not cover %s", name)
		}
	}
}

// TestReleasedProviderInstalls has Terraform install the provider from the archives, by a
// filesystem mirror, and hold it to its checksum.
func TestReleasedProviderInstalls(t *testing.T) {
	folder, version := released(t)
	archive := fmt.Sprintf("terraform-provider-packhorse_%s_%s_%s.zip", version, runtime.GOOS, runtime.GOARCH)
	mirror, work := t.TempDir(), t.TempDir()
	place := filepath.Join(mirror, "registry.terraform.io", "packhorse", "packhorse")
	if err := os.MkdirAll(place, 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(folder, archive))
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(place, archive), string(content))
	write(filepath.Join(work, "cli.tfrc"), fmt.Sprintf("provider_installation {\n  filesystem_mirror { path = %q }\n}\n", mirror))
	write(filepath.Join(work, "main.tf"), fmt.Sprintf("terraform {\n  required_providers {\n    packhorse = { source = \"packhorse/packhorse\", version = %q }\n  }\n}\n", version))
	terraform := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "terraform", args...)
		command.Dir = work
		command.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(work, "cli.tfrc"), "CHECKPOINT_DISABLE=1")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	if out, err := terraform("init", "-no-color"); err != nil {
		t.Fatalf("terraform init: %v\n%s", err, out)
	}
	lock, err := os.ReadFile(filepath.Join(work, ".terraform.lock.hcl"))
	if err != nil || !strings.Contains(string(lock), `"h1:`) {
		t.Fatalf("the lock file has no checksum: %v\n%s", err, lock)
	}
	if out, err := terraform("providers", "schema", "-json"); err != nil || !strings.Contains(out, "packhorse_provisioner") {
		t.Errorf("terraform providers schema: %v\n%.500s", err, out)
	}
	// An archive with other content is refused by the lock file.
	write(filepath.Join(place, archive), changed(t, filepath.Join(folder, archive)))
	if err := os.RemoveAll(filepath.Join(work, ".terraform")); err != nil {
		t.Fatal(err)
	}
	if out, err := terraform("init", "-no-color"); err == nil || !strings.Contains(out, "checksum") {
		t.Errorf("terraform init takes an archive that was changed: %v\n%s", err, out)
	}
}

// changed returns the archive with another file in it.
func changed(t *testing.T, path string) string {
	t.Helper()
	original, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer original.Close()
	var out strings.Builder
	copied := zip.NewWriter(&out)
	for _, file := range original.File {
		if err := copied.Copy(file); err != nil {
			t.Fatal(err)
		}
	}
	extra, err := copied.Create("extra")
	if err == nil {
		_, err = extra.Write([]byte("extra"))
	}
	if err != nil || copied.Close() != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestReleasedSignature has GPG check the signatures of the checksums and of the provenance. A release that was
// made without a key leaves this test out, and says that it is not signed.
func TestReleasedSignature(t *testing.T) {
	folder, version := released(t)
	for _, name := range []string{"terraform-provider-packhorse_" + version + "_SHA256SUMS", "provenance.intoto.json"} {
		signed := filepath.Join(folder, name)
		if out, err := exec.CommandContext(t.Context(), "gpg", "--verify", signed+".sig", signed).CombinedOutput(); err != nil {
			t.Errorf("gpg --verify %s: %v\n%s", name, err, out)
		}
	}
}
