package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// self is a binary that says what it was built from: this test.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSameBinariesSameDigest(t *testing.T) {
	var digests []string
	for _, age := range []time.Duration{0, 48 * time.Hour} {
		copied := filepath.Join(t.TempDir(), "program")
		content, err := os.ReadFile(self(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, content, 0o755); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(copied, then, then); err != nil {
			t.Fatal(err)
		}
		digest, err := build("program", "1.2.3", t.TempDir(), []string{"linux/amd64=" + copied, "linux/arm64=" + copied})
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digest)
	}
	if digests[0] != digests[1] {
		t.Errorf("two builds have the digests %v", digests)
	}
}

// fetch reads a blob as a registry's client does, by its descriptor.
func fetch(t *testing.T, dir string, d descriptor, into any) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "blobs", strings.Replace(d.Digest, ":", "/", 1)))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if "sha256:"+hex.EncodeToString(sum[:]) != d.Digest || int64(len(content)) != d.Size {
		t.Errorf("blob %s has %d bytes and another digest", d.Digest, len(content))
	}
	if into != nil {
		if err := json.Unmarshal(content, into); err != nil {
			t.Fatal(err)
		}
	}
	return content
}

func TestLayout(t *testing.T) {
	dir := t.TempDir()
	digest, err := build("program", "1.2.3", dir, []string{"linux/amd64=" + self(t), "linux/arm64=" + self(t)})
	if err != nil {
		t.Fatal(err)
	}
	var top, all struct{ Manifests []descriptor }
	raw, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &top); err != nil || len(top.Manifests) != 1 || top.Manifests[0].Digest != digest {
		t.Fatalf("index %s, %v; the digest is %s", raw, err, digest)
	}
	fetch(t, dir, top.Manifests[0], &all)
	if len(all.Manifests) != 2 || all.Manifests[1].Platform.Architecture != "arm64" {
		t.Fatalf("manifests %+v", all.Manifests)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	fetch(t, dir, all.Manifests[0], &manifest)
	var config struct {
		OS, Architecture string
		Config           struct {
			Entrypoint []string
			User       string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	fetch(t, dir, manifest.Config, &config)
	if config.OS != "linux" || config.Architecture != "amd64" || config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/program" {
		t.Errorf("config %+v", config)
	}
	z, err := gzip.NewReader(bytes.NewReader(fetch(t, dir, manifest.Layers[0], nil)))
	if err != nil {
		t.Fatal(err)
	}
	archive, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != config.RootFS.DiffIDs[0] {
		t.Errorf("the layer is %s, the config says %v", got, config.RootFS.DiffIDs)
	}
	files := tar.NewReader(bytes.NewReader(archive))
	header, err := files.Next()
	if err != nil || header.Name != "program" || header.Mode != 0o755 {
		t.Errorf("first file %+v, %v", header, err)
	}
	if _, err := files.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the image has more than the binary: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for args, want := range map[string]string{
		"":                   "at least one OS/ARCH=PATH",
		"linux=program":      "must be OS/ARCH=PATH",
		"linux/amd64=absent": "no such file",
	} {
		if _, err := build("program", "1", t.TempDir(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// TestContainerfile holds what an engine builds to what `make image` writes.
func TestContainerfile(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(filepath.FromSlash("../../../" + path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	containerfile, makefile := read("agent/Containerfile"), read("GNUmakefile")
	build, final, found := strings.Cut(containerfile, "\nFROM scratch\n")
	if !found || strings.TrimSpace(final) != "COPY --from=build /packhorse-agent /packhorse-agent\nUSER "+user+"\nENTRYPOINT [\"/packhorse-agent\"]" {
		t.Errorf("the image is to be empty but for the agent, which %s runs: %s", user, containerfile)
	}
	for _, same := range []string{"CGO_ENABLED=0 GOOS=", "build -trimpath -buildvcs=false -ldflags ", "-s -w -X main.version=", "./agent/cmd/packhorse-agent"} {
		if !strings.Contains(build, same) || !strings.Contains(makefile, same) {
			t.Errorf("%q is not both in agent/Containerfile and in GNUmakefile", same)
		}
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("go.mod"))
	if !strings.Contains(build, "golang:"+version[1]+" ") {
		t.Errorf("go.mod wants Go %s, the Containerfile has another", version[1])
	}
}
