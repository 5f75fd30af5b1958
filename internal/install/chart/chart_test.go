package chart

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	run := version("../../sandbox/controlplane/go.mod", `k8s\.io/kubernetes v(\d+\.\d+)`)
	if says := version(page, `\| Kubernetes \|[^|]*\| (\d+\.\d+): a real control plane`); run != says {
		t.Errorf("the sandbox runs Kubernetes %s, the page says %s", run, says)
	}
}
