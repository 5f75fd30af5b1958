package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestChartIsTheSameEachTime(t *testing.T) {
	var packages [][]byte
	for _, changed := range []time.Time{time.Unix(0, 0), time.Now()} {
		folder := fstest.MapFS{
			"Chart.yaml":            {Data: []byte("name: packhorse-agent\nversion: 0.1.0\nappVersion: 0.1.0\nkubeVersion: \">=1.29.0-0\"\n"), ModTime: changed},
			"templates/object.yaml": {Data: []byte("kind: Object\n"), ModTime: changed},
		}
		made, err := chart(folder, "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, made)
	}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("two packages of the same chart differ")
	}
	files := unpack(t, packages[0])
	if got := files["packhorse-agent/Chart.yaml"]; !strings.Contains(got, "\nversion: 1.2.3\nappVersion: 1.2.3\nkubeVersion") {
		t.Errorf("Chart.yaml is %q", got)
	}
	if files["packhorse-agent/templates/object.yaml"] != "kind: Object\n" {
		t.Errorf("the package has %q", files)
	}
}

func unpack(t *testing.T, made []byte) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(made))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}

func TestProvenanceCoversAllFiles(t *testing.T) {
	folder := fstest.MapFS{"a.zip": {Data: []byte("a")}, "image/index.json": {Data: []byte("{}")}}
	made, err := provenance(folder, "1.2.3", "abc")
	if err != nil {
		t.Fatal(err)
	}
	var statement struct {
		Subject   []subject
		Predicate struct {
			BuildDefinition struct{ ResolvedDependencies []dependency }
		}
	}
	if err := json.Unmarshal(made, &statement); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, s := range statement.Subject {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"a.zip", "image/index.json"}) {
		t.Errorf("it covers %v", names)
	}
	// printf a | sha256sum
	if got := statement.Subject[0].Digest["sha256"]; got != "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" {
		t.Errorf("a.zip has the digest %s", got)
	}
	if got := statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]; got != "abc" {
		t.Errorf("it was built from %q", got)
	}
}

func TestRefusals(t *testing.T) {
	empty := t.TempDir()
	for args, want := range map[string]string{
		"":                                 "the first argument is",
		"paint --version 1 --out x .":      "the first argument is",
		"bill --out x program":             "--version",
		"chart --version 1 --out x DIR":    "no Chart.yaml",
		"provenance --version 1 --out x .": "--commit",
		"provenance --version 1 --commit c --out x DIR": "no files",
	} {
		err := run(strings.Fields(strings.ReplaceAll(args, "DIR", empty)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(empty, "x")); err == nil {
		t.Error("a refused command has written a file")
	}
}
