package provider_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// TestExamplesOfWhatIsRead applies the examples that the documentation shows for
// data sources, functions, ephemeral resources and in guides, each beside the same provider
// block.
func TestExamplesOfWhatIsRead(t *testing.T) {
	var files []string
	for _, pattern := range []string{
		"data-sources/*/data-source.tf", "functions/*/function.tf", "ephemeral-resources/*/ephemeral-resource.tf",
		"guides/replace-node-group/main.tf", "guides/simulate/main.tf",
	} {
		found, err := filepath.Glob("../examples/" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no examples %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			example, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config:           byName() + string(example),
					ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				}},
			})
		})
	}
}

// TestExampleOfAPlanOffline plans where neither a cluster nor AWS can be reached.
func TestExampleOfAPlanOffline(t *testing.T) {
	for _, variable := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_STS"} {
		t.Setenv(variable, "http://127.0.0.1:1")
	}
	file := filepath.Join(t.TempDir(), "catalogue.csv")
	if err := os.WriteFile(file, offer.EmbeddedCSV(), 0o600); err != nil {
		t.Fatal(err)
	}
	resource.Test(t, resource.TestCase{Steps: []resource.TestStep{{
		ProtoV6ProviderFactories: factories(),
		ConfigDirectory:          config.StaticDirectory("../examples/guides/plan-offline"),
		ConfigVariables:          config.Variables{"catalogue_file": config.StringVariable(file)},
		PlanOnly:                 true, ExpectNonEmptyPlan: true,
	}}})
}
