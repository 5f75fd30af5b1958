package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

const source = "https://github.com/packhorse-io/terraform-provider-packhorse"

type digest map[string]string

type subject struct {
	Name   string `json:"name"`
	Digest digest `json:"digest"`
}

type dependency struct {
	URI    string `json:"uri"`
	Digest digest `json:"digest"`
}

// provenance states from which commit, and by which Go release, all files of a folder
// were built: a statement of in-toto (https://in-toto.io/Statement/v1) with a predicate of
// SLSA (https://slsa.dev/spec/v1.0/provenance). `make release` signs it.
func provenance(folder fs.FS, version, commit string) ([]byte, error) {
	if commit == "" {
		return nil, errors.New("--commit is required for the provenance")
	}
	var subjects []subject
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		subjects = append(subjects, subject{name, digest{"sha256": hex.EncodeToString(sum[:])}})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the files of the release: %w", err)
	}
	if len(subjects) == 0 {
		return nil, errors.New("the folder has no files to state the provenance of")
	}
	return json.MarshalIndent(map[string]any{
		"_type": "https://in-toto.io/Statement/v1", "subject": subjects, "predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":            source + "/blob/main/GNUmakefile",
				"externalParameters":   map[string]string{"target": "release", "version": version},
				"internalParameters":   map[string]string{"go": runtime.Version()},
				"resolvedDependencies": []dependency{{"git+" + source, digest{"gitCommit": commit}}},
			},
			"runDetails": map[string]any{"builder": map[string]string{"id": source + "/blob/main/GNUmakefile#release"}},
		},
	}, "", "  ")
}
