package karpenter_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

var update = flag.Bool("update", false, "write what is wanted anew")

// TestRead compares each testdata/NAME.yaml with NAME.want.yaml.
func TestRead(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.yaml"), func(t *testing.T) {
			objects, _, err := karpenter.Read(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := yaml.Marshal(written(objects))
			if err != nil {
				t.Fatal(err)
			}
			wanted := strings.TrimSuffix(file, ".in.yaml") + ".want.yaml"
			if *update {
				if err := os.WriteFile(wanted, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want := read(t, wanted)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// converted is an object as the files of wanted objects have it.
type converted struct {
	Kind, Name, Origin string
	Spec               map[string]any
	Losses             []string
	Unsupported        []string `json:",omitempty"`
}

func written(objects []karpenter.Object) []converted {
	var out []converted
	for _, o := range objects {
		out = append(out, converted{o.Kind, o.Name, o.Origin, o.Spec, o.Losses.Lines(), o.Unsupported.Lines()})
	}
	return out
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
		"no name":            {"{apiVersion: karpenter.sh/v1, kind: NodePool}", `a document of kind "NodePool" has no metadata.name`},
		"no YAML":            {"a: [", "read document 1"},
		"values of no sense": {"{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: a}, spec: {weight: heavy}}", "Provisioner a: spec.weight:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, _, err := karpenter.Read([]byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// A Provisioner never buys from a capacity reservation: a NodePool that excludes them loses nothing.
func TestConvertWithoutReservations(t *testing.T) {
	for values, want := range map[string]string{
		"[reserved]":       `{"key":"karpenter.sh/capacity-type","operator":"In","values":["spot","on-demand"]}`,
		"[spot, reserved]": `{"key":"karpenter.sh/capacity-type","operator":"NotIn","values":["spot"]}`,
	} {
		t.Run(values, func(t *testing.T) {
			text := strings.Replace(plainPool, "key: kubernetes.io/arch, operator: In, values: [amd64]", "key: karpenter.sh/capacity-type, operator: NotIn, values: "+values, 1)
			objects, _, err := karpenter.Read([]byte(text + "---" + plainClass))
			if err != nil {
				t.Fatal(err)
			}
			o := objects[1] // after its class
			if len(o.Losses) > 0 || len(o.Unsupported) > 0 {
				t.Errorf("losses %v, unsupported %v", o.Losses, o.Unsupported)
			}
			requirements, err := json.Marshal(o.Spec["requirements"])
			if err != nil || !strings.Contains(string(requirements), want) {
				t.Errorf("requirements %s, want %s; %v", requirements, want, err)
			}
		})
	}
}

// A limit without a value is none, as for the API server, and is named as a loss.
func TestConvertLimitsWithoutValue(t *testing.T) {
	objects, _, err := karpenter.Read([]byte(strings.Replace(plainPool, "spec:\n", "spec:\n  limits: {cpu:100, memory: 400Gi}\n", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"resources": map[string]any{"memory": "400Gi"}}; !cmp.Equal(want, objects[0].Spec["limits"]) {
		t.Errorf("limits %v, want %v", objects[0].Spec["limits"], want)
	}
	if want := "spec.limits[cpu:100]: has no value, ignored; write a space after the colon: cpu: 100"; !strings.Contains(objects[0].Losses.Error(), want) {
		t.Errorf("losses %v, want %s", objects[0].Losses, want)
	}
}

// Labels that no Provisioner may have are lost, and the rest of the labels makes a valid Provisioner.
func TestLostLabelsAreNotWritten(t *testing.T) {
	objects, _, err := karpenter.Read([]byte(strings.Replace(plainPool, "template:", "template:\n    metadata: {labels: {karpenter.sh/discovery: prod, team: a}}", 1)))
	if err != nil {
		t.Fatal(err)
	}
	o := objects[0]
	if want := map[string]any{"team": "a"}; !cmp.Equal(want, o.Spec["labels"]) || len(o.Problems()) > 0 {
		t.Errorf("labels %v, want %v; problems %v", o.Spec["labels"], want, o.Problems())
	}
	if want := "spec.template.metadata.labels[karpenter.sh/discovery]: "; !strings.Contains(o.Losses.Error(), want) {
		t.Errorf("losses %v, want %s", o.Losses, want)
	}
}

// What an inline provider holds that nothing reads is a loss like any other.
func TestReadInlineProvider(t *testing.T) {
	objects, _, err := karpenter.Read([]byte(`{apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: a}, spec: {provider: {subnetSelectors: {a: b}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"spec.provider.subnetSelectors: unknown field, ignored; did you mean subnetSelector?"}; !cmp.Equal(want, strings.Split(objects[0].Losses.Error(), "\n")) {
		t.Errorf("losses %q, want %q", objects[0].Losses, want)
	}
}

// Documents that are nothing of Karpenter's are named, and so are those in versions
// that nobody can read; Lists are taken apart.
func TestReadSkips(t *testing.T) {
	objects, skipped, err := karpenter.Read([]byte(`
apiVersion: v1
kind: Pod
metadata: {name: a}
---
apiVersion: karpenter.sh/v2
kind: NodePool
metadata: {name: b}
---
apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Service, metadata: {name: c}}
  - {apiVersion: karpenter.sh/v1alpha5, kind: Provisioner, metadata: {name: d}}
---
name: e
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 1 || objects[0].Name != "d" {
		t.Errorf("converted %+v", objects)
	}
	want := []string{
		"Pod a: is skipped: the kinds are Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass",
		"NodePool b: cannot be read in the version karpenter.sh/v2: the versions are v1 and v1beta1",
		"Service c: is skipped: the kinds are Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass",
		": has no kind",
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}
