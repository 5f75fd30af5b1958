package plane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// BinaryVariable names the environment variable that holds the path of the control
// plane binary.
const BinaryVariable = "PACKHORSE_CONTROLPLANE"

// FindBinary returns the path of the control plane binary: the one that is given,
// else the environment's, else bin/controlplane in the working directory or the
// nearest folder above it.
func FindBinary(given string) (string, error) {
	for _, path := range []string{given, os.Getenv(BinaryVariable)} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("find the control plane binary: %w; `make controlplane` builds it", err)
		}
		return filepath.Abs(path)
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the control plane binary: %w", err)
	}
	for {
		path := filepath.Join(folder, "bin", "controlplane")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("find the control plane binary: no bin/controlplane here or in a folder above; `make controlplane` builds it")
		}
		folder = parent
	}
}
