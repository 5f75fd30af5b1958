package provider_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const queryFile = `
list "packhorse_provisioner" "all" {
  provider = packhorse
}

list "packhorse_node_profile" "all" {
  provider = packhorse
}
`

// What a query lists can be imported with the configuration that it writes, and
// the plan of that shows nothing but the imports. An engine that has no queries
// (those of the protocol are tested in list_test.go) plans beside the file as if
// it were not there.
func TestQueryWritesConfigurationOfWhatItLists(t *testing.T) {
	apply(t, "kubectl", api.NodeTemplateGVR, "AWSNodeTemplate", "queried", `{amiFamily: AL2023, subnetSelector: {a: b}, securityGroupSelector: {a: b}}`)
	defer remove(t, api.NodeTemplateGVR, "queried")
	for _, name := range []string{"queried-a", "queried-b"} {
		apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{weight: 9, providerRef: {name: queried}}`)
		defer remove(t, api.ProvisionerGVR, name)
	}
	c := newCLI(t, nil)
	c.write(t, map[string]string{"versions.tf": requiring(), "all.tfquery.hcl": queryFile})
	c.run(t, "init")
	if !hasQueries(t) {
		t.Logf("%s has no queries: list resources are tested through the protocol alone", engineVersion())
		wantNoChange(t, "the plan beside a query", c.plan(t))
		return
	}
	want := []string{"packhorse_node_profile queried", "packhorse_provisioner queried-a", "packhorse_provisioner queried-b"}
	if diff := cmp.Diff(want, found(t, c.run(t, "query", "-json", "-generate-config-out=generated.tf"))); diff != "" {
		t.Errorf("what the query has found (-want +got):\n%s", diff)
	}
	changes := c.plan(t)
	wantNoChange(t, "the plan of what the query has written", changes)
	if len(changes) != len(want) || slices.ContainsFunc(changes, func(ch change) bool { return ch.Change.Importing == nil }) {
		t.Errorf("%d resources are planned, want %d imports:\n%+v", len(changes), len(want), changes)
	}
}

// found are the types and names of what a query has listed, sorted.
func found(t *testing.T, output string) (out []string) {
	t.Helper()
	for line := range strings.Lines(output) {
		var event struct {
			Found struct {
				Type string `json:"resource_type"`
				Name string `json:"display_name"`
			} `json:"list_resource_found"`
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if event.Found.Name != "" {
			out = append(out, event.Found.Type+" "+event.Found.Name)
		}
	}
	slices.Sort(out)
	return out
}

// hasQueries reports whether the engine is Terraform 1.14 or later.
func hasQueries(t *testing.T) bool {
	t.Helper()
	product, number, _ := strings.Cut(engineVersion(), " v")
	engine, err := version.ParseGeneric(number)
	if err != nil {
		t.Fatalf("read the engine's version: %v", err)
	}
	return product == "Terraform" && engine.AtLeast(version.MustParseGeneric("1.14"))
}

// engineVersion is what the engine calls itself, such as "Terraform v1.14.0".
func engineVersion() string {
	out, err := exec.Command(os.Getenv("TF_ACC_TERRAFORM_PATH"), "version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	if err != nil {
		return err.Error()
	}
	return first
}
