package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"path"
	"regexp"
)

// versions are the lines of Chart.yaml that a release sets.
var versions = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// chart packs a chart as `helm package` does, with the given version. Its files have no
// times, since those of `helm package` make each package another one.
func chart(folder fs.FS, version string) ([]byte, error) {
	if _, err := fs.Stat(folder, "Chart.yaml"); err != nil {
		return nil, fmt.Errorf("package the chart: the folder has no Chart.yaml: %w", err)
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			if found := len(versions.FindAll(content, -1)); found != 2 {
				return fmt.Errorf("found %d lines with version and appVersion in Chart.yaml, want 2", found)
			}
			content = versions.ReplaceAll(content, []byte("${1}: "+version))
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path.Join("packhorse-agent", name), Size: int64(len(content)), Mode: 0o644}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("package the chart: %w", err)
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
