package validate

import (
	"cmp"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// manifestCase is a record of testdata/*.yaml.
type manifestCase struct {
	Name       string         `json:"name"`
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       map[string]any `json:"spec"`
	Refused    []string       `json:"refused"`
	Warned     []string       `json:"warned"`
	Server     string         `json:"server"`
	// Bare leaves out the providerRef that is added otherwise.
	Bare bool `json:"bare"`
}

func loadManifests(t *testing.T, path, apiVersion, kind string) []manifestCase {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []manifestCase
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatalf("parse %s: %v", path, err)
	}
	for i := range cases {
		cases[i].APIVersion = cmp.Or(cases[i].APIVersion, apiVersion)
		cases[i].Kind = cmp.Or(cases[i].Kind, kind)
		if _, inline := cases[i].Spec["provider"]; kind == api.ProvisionerKind && !inline && !cases[i].Bare && cases[i].Spec["providerRef"] == nil {
			if cases[i].Spec == nil {
				cases[i].Spec = map[string]any{}
			}
			cases[i].Spec["providerRef"] = map[string]any{"name": "default"}
		}
		if cases[i].Metadata == nil {
			cases[i].Metadata = map[string]any{"name": "default"}
		}
	}
	return cases
}

func (c *manifestCase) document(t *testing.T) []byte {
	t.Helper()
	doc, err := yaml.Marshal(map[string]any{"apiVersion": c.APIVersion, "kind": c.Kind, "metadata": c.Metadata, "spec": c.Spec})
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// checkManifest reads and validates a document, returning what users are told.
type checkManifest func(doc []byte) finding.List

func checkProvisioner(doc []byte) finding.List {
	p, ignored, err := api.DecodeProvisioner(doc)
	if err != nil {
		return append(ignored, finding.Of(err)...)
	}
	return append(ignored, Provisioner(p)...)
}

func checkNodeTemplate(doc []byte) finding.List {
	template, ignored, err := api.DecodeNodeTemplate(doc)
	if err != nil {
		return append(ignored, finding.Of(err)...)
	}
	return append(ignored, NodeTemplate(template)...)
}

func TestManifests(t *testing.T) { // DISR-004
	for name, kind := range map[string]struct {
		apiVersion, kind string
		check            checkManifest
	}{
		"provisioners":  {"karpenter.sh/v1alpha5", api.ProvisionerKind, checkProvisioner},
		"nodetemplates": {"karpenter.k8s.aws/v1alpha1", api.NodeTemplateKind, checkNodeTemplate},
	} {
		t.Run(name, func(t *testing.T) {
			var golden strings.Builder
			for _, c := range loadManifests(t, "../testdata/"+name+".yaml", kind.apiVersion, kind.kind) {
				found := kind.check(c.document(t))
				messages, warnings := found.Errors().Lines(), found.Warnings().Lines()
				golden.WriteString(transcript(c.Name, messages, warnings))
				if diff := gocmp.Diff(c.Refused, paths(messages), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: errors -want +got:\n%s%s", c.Name, diff, strings.Join(messages, "\n"))
				}
				sorted := cmpopts.SortSlices(strings.Compare)
				if diff := gocmp.Diff(c.Warned, paths(warnings), cmpopts.EquateEmpty(), sorted); diff != "" && len(c.Refused) == 0 {
					t.Errorf("%s: warnings -want +got:\n%s%s", c.Name, diff, strings.Join(warnings, "\n"))
				}
			}
			checkGolden(t, "../testdata/"+name+".golden", golden.String())
		})
	}
}

// checkGolden compares all messages with those on file.
func checkGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs, -want +got (run with -update if it should):\n%s", path, diff)
	}
}

func transcript(name string, messages, warnings []string) string {
	if len(messages)+len(warnings) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString(name + "\n")
	for _, m := range messages {
		out.WriteString("  error: " + m + "\n")
	}
	for _, w := range warnings {
		out.WriteString("  warning: " + w + "\n")
	}
	return out.String() + "\n"
}

// pathPrefix is the path at the beginning of a message. Keys in brackets may hold
// colons.
var pathPrefix = regexp.MustCompile(`^([^\[\]:]|\[[^\]]*\])+`)

func paths(messages []string) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = pathPrefix.FindString(m)
	}
	return slices.Clip(out)
}

// TestTheTablesHoldEveryKey keeps the keys in the rules of the CRDs complete,
// which the API server checks with the same table.
func TestTheTablesHoldEveryKey(t *testing.T) {
	want := slices.Sorted(slices.Values(api.KnownLabels()))
	for _, c := range loadManifests(t, "../testdata/provisioners.yaml", "karpenter.sh/v1alpha5", api.ProvisionerKind) {
		if c.Name != "every well-known key and alias" {
			continue
		}
		p, _, err := api.DecodeProvisioner(c.document(t))
		if err != nil {
			t.Fatal(err)
		}
		var required []string
		for _, r := range p.Spec.Requirements {
			required = append(required, r.Key)
		}
		for _, keys := range [][]string{required, p.Spec.PodOverrides, slices.Collect(maps.Keys(p.Spec.Labels))} {
			if diff := gocmp.Diff(want, slices.Sorted(slices.Values(keys))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		}
		return
	}
	t.Fatal("no such case")
}

func TestLimitsOfLength(t *testing.T) {
	profile := &api.NodeProfile{
		UserData: ptr.To(strings.Repeat("x", maxUserData+1)),
		Tags:     map[string]string{strings.Repeat("k", 127): "", strings.Repeat("k", 128): "", "long": strings.Repeat("v", 257)},
	}
	if errs := nodeProfileErrors(profile, field.NewPath("spec")); len(errs) != 3 {
		t.Errorf("%d errors, want 3: %v", len(errs), errs)
	}
}

func TestDefaultsContradictNothing(t *testing.T) {
	p := &api.Provisioner{Spec: api.ProvisionerSpec{Requirements: []api.Requirement{
		{Key: api.LabelInstanceType, Operator: api.OpIn, Values: []string{"m5.large", "m5.2xlarge"}},
		{Key: api.LabelArch, Operator: api.OpIn, Values: []string{"arm64", "amd64"}},
	}}}
	p.Name = "default"
	if errs := ProvisionerErrors(p.Defaulted()); len(errs) > 0 {
		t.Errorf("defaults contradict: %v", errs)
	}
}
