package karpenter_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// TestRead compares each testdata/NAME.yaml with NAME.want.yaml.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			objects, err := karpenter.Read(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(objects)
			if err != nil {
				t.Fatal(err)
			}
			want := read(t, strings.TrimSuffix(file, ".in.yaml")+".want.yaml")
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestReadRefuses(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"another kind":       {"{apiVersion: v1, kind: Pod, metadata: {name: a}}", "Pod a of v1 cannot be converted"},
		"another version":    {"{apiVersion: karpenter.sh/v2, kind: NodePool, metadata: {name: a}}", "NodePool a of karpenter.sh/v2 cannot be converted"},
		"no name":            {"{apiVersion: karpenter.sh/v1, kind: NodePool}", `a document of kind "NodePool" has no metadata.name`},
		"no YAML":            {"a: [", "read document 1"},
		"values of no sense": {"{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: a}, spec: {weight: heavy}}", "Provisioner a: spec.weight:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := karpenter.Read([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}
