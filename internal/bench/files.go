package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/report"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/suite"
)

// readOutcomes reads what `run --json` wrote. No path gives none.
func readOutcomes(path string) ([]suite.Outcome, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read earlier measurements: %w", err)
	}
	var out []suite.Outcome
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("read earlier measurements in %s: %w", path, err)
	}
	return out, nil
}

// save writes the files that were asked for.
func (s *session) save(outcomes []suite.Outcome) error {
	if s.json != "" {
		data, err := json.MarshalIndent(outcomes, "", " ")
		if err != nil {
			return fmt.Errorf("encode measurements: %w", err)
		}
		if err := write(s.json, append(data, '\n')); err != nil {
			return err
		}
	}
	if s.markdown != "" {
		page := report.Markdown(outcomes, report.Describe(s.commit))
		if err := write(s.markdown, []byte(page)); err != nil {
			return err
		}
	}
	if s.images != "" {
		for name, svg := range report.Charts(outcomes) {
			if err := write(filepath.Join(s.images, name), []byte(svg)); err != nil {
				return err
			}
		}
	}
	return nil
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
