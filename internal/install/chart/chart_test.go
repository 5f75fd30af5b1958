package chart

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/install"
)

var update = flag.Bool("update", false, "write the chart's templates anew")

// What is installed and what the chart's templates say change together.
func TestTemplatesAreUpToDate(t *testing.T) {
	want, err := Templates()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join("packhorse-agent", "templates")
	if *update {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[entry.Name()] = string(text)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s (-want +got), -update writes it:\n%s", name, diff)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d templates, want %d", len(got), len(want))
	}
}

func TestSchemaIsUpToDate(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("packhorse-agent", "values.schema.json")
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the schema of the values (-want +got), -update writes it:\n%s", diff)
	}
}

// TestCompatibility holds docs/compatibility.md to what the chart admits and to
// what the sandbox runs.
func TestCompatibility(t *testing.T) {
	version := func(path, form string) string {
		text, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(form).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", path, form)
		}
		return string(found[1])
	}
	const page = "../../../docs/compatibility.md"
	if least, says := version("packhorse-agent/Chart.yaml", `kubeVersion: ">=(\d+\.\d+)`), version(page, `\| Kubernetes \| (\d+\.\d+) and later`); least != says {
		t.Errorf("the chart admits Kubernetes %s, the page says %s", least, says)
	}
	runs := version("../../sandbox/controlplane/go.mod", `k8s\.io/kubernetes v(\d+\.\d+)`)
	version(page, `\n\| (`+regexp.QuoteMeta(runs)+`)\.\d+ \|`) // the row that a run of the tests has written
}

// TestSchemaBoundsAreThoseOfTheFlags has values that the agent would refuse, and the
// ones that it names in their place.
func TestSchemaBoundsAreThoseOfTheFlags(t *testing.T) {
	for _, tt := range []struct {
		option string
		value  any
		wrong  bool
	}{
		{option: "reserved-enis", value: -5.0, wrong: true},
		{option: "reserved-enis", value: 0.0},
		{option: "reserved-enis", value: 16.0, wrong: true},
		{option: "vm-memory-overhead-percent", value: 0.075, wrong: true},
		{option: "vm-memory-overhead-percent", value: 0.0},
		{option: "vm-memory-overhead-percent", value: 7.5},
		{option: "node-cost", value: -0.5, wrong: true},
		{option: "replicas", value: 0.0, wrong: true},
		{option: "startup-timeout", value: "-15m", wrong: true},
		{option: "startup-timeout", value: "1h30m"},
		{option: "unhealthy-after", value: "-1s"},
		{option: "unhealthy-after", value: "-1m", wrong: true},
		{option: "batch-idle", value: "500ms"},
		{option: "batch-idle", value: "2", wrong: true},
	} {
		if got := !admits(optionSchema(tt.option), tt.value); got != tt.wrong {
			t.Errorf("%s = %v is refused: %v, want %v", tt.option, tt.value, got, tt.wrong)
		}
		text, isText := tt.value.(string)
		if !isText {
			text = fmt.Sprint(tt.value)
		}
		if _, err := time.ParseDuration(text); isText && err != nil {
			continue // the flag cannot even be read
		}
		if got := install.Nonsense(tt.option, text) != ""; got != tt.wrong {
			t.Errorf("--%s=%s makes no sense: %v, want %v", tt.option, text, got, tt.wrong)
		}
	}
}

// admits reads as much of JSON Schema as optionSchema writes.
func admits(s map[string]any, value any) bool {
	if either, ok := s["anyOf"].([]map[string]any); ok {
		return slices.ContainsFunc(either, func(one map[string]any) bool { return admits(one, value) })
	}
	switch v := value.(type) {
	case string:
		pattern, _ := s["pattern"].(string)
		if enum, ok := s["enum"].([]string); ok {
			return slices.Contains(enum, v)
		}
		return s["type"] == "string" && regexp.MustCompile(pattern).MatchString(v)
	case float64:
		if enum, ok := s["enum"].([]float64); ok {
			return slices.Contains(enum, v)
		}
		return s["type"] != "string" && s["minimum"].(float64) <= v && v <= s["maximum"].(float64)
	}
	return false
}
