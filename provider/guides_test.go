package provider_test

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// TestExampleOfTheStart applies what the index tells newcomers to write.
func TestExampleOfTheStart(t *testing.T) {
	trustTheCluster(t)
	example, err := os.ReadFile("../examples/guides/start/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    []resource.TestStep{{Config: byName() + string(example), ConfigPlanChecks: plansEmpty}},
	})
}

// terraformBlock is a block of configuration in a page.
var terraformBlock = regexp.MustCompile("(?s)```terraform\n(.*?)```")

// TestGuideFromKubectlManifest applies what the guide calls "after". That the moved
// block itself changes nothing is shown by the tests of moves.
func TestGuideFromKubectlManifest(t *testing.T) {
	page, err := os.ReadFile("../templates/guides/from-kubectl-manifest.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	block := terraformBlock.FindSubmatch(page)
	if block == nil {
		t.Fatal("the guide has no configuration")
	}
	_, after, ok := strings.Cut(string(block[1]), "# after\n")
	after, _, moved := strings.Cut(after, "moved {")
	if !ok || !moved {
		t.Fatalf("the guide does not show a configuration before and after, and a moved block:\n%s", block[1])
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    []resource.TestStep{{Config: byName() + after, ConfigPlanChecks: plansEmpty}},
	})
}

// Each way to import that the documentation shows is about a resource of the page,
// by its name.
func TestImportExamplesFitTheResources(t *testing.T) {
	files, err := filepath.Glob("../examples/resources/*/import*")
	if err != nil || len(files) < 15 {
		t.Fatalf("examples = %v, %v", files, err)
	}
	for _, file := range files {
		example, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		declared, err := os.ReadFile(filepath.Join(filepath.Dir(file), "resource.tf"))
		if err != nil {
			t.Fatal(err)
		}
		typeName := filepath.Base(filepath.Dir(file))
		address := regexp.MustCompile(typeName + `\.(\w+)`).FindSubmatch(example)
		if address == nil {
			t.Errorf("%s imports nothing of type %s", file, typeName)
			continue
		}
		block := regexp.MustCompile(`(?s)resource "` + typeName + `" "` + string(address[1]) + `" \{(?:\s+name\s+= "([^"]+)")?`).FindSubmatch(declared)
		if block == nil {
			t.Errorf("%s imports %s, which resource.tf does not declare", file, address[0])
			continue
		}
		name := cmp.Or(string(block[1]), "packhorse-agent") // the agent's Deployment has a name by default
		if !strings.Contains(string(example), name) {
			t.Errorf("%s does not import %s by its name %s", file, address[0], name)
		}
	}
}
