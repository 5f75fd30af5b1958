package provider_test

import (
	"regexp"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// engineFeatures are parts of the provider that some engines cannot use: a
// configuration with one, the command that reads it, and what an engine without it
// answers.
var engineFeatures = []struct {
	name, file, text string
	command          []string
	lacking          *regexp.Regexp
}{
	{
		name: "functions", file: "function.tf", text: `output "cores" { value = provider::packhorse::parse_quantity("1500m") }`,
		command: []string{"plan"}, lacking: regexp.MustCompile(`Function calls? not allowed|There is no function named`),
	},
	{
		name: "ephemeral resources", file: "ephemeral.tf", text: `ephemeral "packhorse_cluster_token" "here" {}`,
		command: []string{"plan"}, lacking: regexp.MustCompile(`Blocks of type "ephemeral" are not expected here`),
	},
	{
		name: "import by identity", file: "import.tf", text: `
import {
  to       = packhorse_provisioner.known
  identity = { name = "engine-known" }
}
resource "packhorse_provisioner" "known" {
  name         = "engine-known"
  provider_ref = { name = "default" }
}`,
		command: []string{"plan"}, lacking: regexp.MustCompile(`(?s)argument named "identity" is not expected here|argument "id" is required`),
	},
	{
		name: "list resources", file: "all.tfquery.hcl", text: queryFile,
		command: []string{"query"}, lacking: regexp.MustCompile(`no command named "query"`),
	},
}

// TestEngineFeatures uses each feature with the engine at hand. An engine either has
// the feature, and our part of it works, or says itself that it does not know it. The
// lines that begin with "feature" are what docs/compatibility.md is written from.
func TestEngineFeatures(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "engine-known", `{providerRef: {name: default}}`)
	defer remove(t, api.ProvisionerGVR, "engine-known")
	for _, feature := range engineFeatures {
		t.Run(feature.name, func(t *testing.T) {
			c := newCLI(t, nil)
			c.write(t, map[string]string{"versions.tf": requiring()})
			c.run(t, "init")
			c.write(t, map[string]string{feature.file: feature.text})
			out, err := c.try(t, feature.command...)
			switch {
			case err == nil:
				t.Logf("feature %s: yes", feature.name)
			case feature.lacking.MatchString(out):
				t.Logf("feature %s: no", feature.name)
			default:
				t.Errorf("%s does not say that it lacks %s, but: %v\n%s", engineVersion(), feature.name, err, out)
			}
		})
	}
}
