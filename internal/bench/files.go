package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bench/report"
)

// readMeasurement reads what `run --json` wrote. No path gives an empty one.
func readMeasurement(path string) (*report.Measurement, error) {
	out := &report.Measurement{}
	if path == "" {
		return out, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a measurement: %w", err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("read the measurement %s: %w", path, err)
	}
	return out, nil
}

// writeMeasurement writes it for readMeasurement. No path does nothing.
func writeMeasurement(path string, m *report.Measurement) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("encode the measurement: %w", err)
	}
	return write(path, append(data, '\n'))
}

// page says where the report goes; an empty name is nowhere.
type page struct {
	markdown string
	images   string
}

func (p *page) flags(flags *pflag.FlagSet) {
	flags.StringVar(&p.markdown, "markdown", "", "write the report to `FILE`")
	flags.StringVar(&p.images, "images", "", "write the report's charts to `FOLDER`")
}

func (p *page) write(m *report.Measurement) error {
	if p.markdown != "" {
		if err := write(p.markdown, []byte(report.Markdown(m))); err != nil {
			return err
		}
	}
	if p.images == "" {
		return nil
	}
	for name, svg := range report.Charts(m.Outcomes) {
		if err := write(filepath.Join(p.images, name), []byte(svg)); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("create the folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
