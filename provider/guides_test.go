package provider_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// terraformBlock is a block of configuration in a page.
var terraformBlock = regexp.MustCompile("(?s)```terraform\n(.*?)```")

// TestGuideFromKubectlManifest follows the guide: it declares what is there before, moves
// it, lets go of what other providers hold, and takes the way of older versions of
// Terraform.
func TestGuideFromKubectlManifest(t *testing.T) {
	page, err := os.ReadFile("../docs/guides/from-kubectl-manifest.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := terraformBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Fatalf("the guide has %d configurations, want 3", len(blocks))
	}
	before, rest, cut := strings.Cut(string(blocks[0][1]), "# after\n")
	after, moved, ok := strings.Cut(rest, "moved {")
	if !cut || !ok {
		t.Fatalf("the guide does not show a configuration before and after, and a moved block:\n%s", blocks[0][1])
	}
	moved = "moved {" + moved
	_, body, _ := strings.Cut(before, "<<-YAML\n")
	body, _, _ = strings.Cut(body, "  YAML\n")
	if _, err := objects.Resource(api.ProvisionerGVR).Apply(t.Context(), "default", parsed(t, body), metav1.ApplyOptions{FieldManager: "kubectl"}); err != nil {
		t.Fatal(err)
	}
	others := map[string]func() tfprotov6.ProviderServer{"gavinbunney/kubectl": kubectlManifest.server(), "hashicorp/aws": awsAttachment.server()}
	head := requiring("gavinbunney/kubectl", "hashicorp/aws")
	start := func(files ...string) *cli {
		c := newCLI(t, others)
		c.write(t, map[string]string{"main.tf": head + strings.Join(files, "\n")})
		c.run(t, "init")
		c.run(t, "apply", "-auto-approve")
		return c
	}

	c := start(before)
	c.write(t, map[string]string{"main.tf": head + after + moved})
	wantNoChange(t, "the plan of the move", c.plan(t))
	c.run(t, "apply", "plan.bin")

	c = start("resource \"aws_iam_role_policy_attachment\" \"node\" {\n  role = \"prod-node\"\n}\n")
	c.write(t, map[string]string{"main.tf": head + string(blocks[1][1])})
	wantForgotten(t, c.plan(t), "aws_iam_role_policy_attachment.node")

	c = start(before)
	c.write(t, map[string]string{"main.tf": head + after + string(blocks[2][1])})
	wantForgotten(t, c.plan(t), "kubectl_manifest.default")
	c.run(t, "apply", "plan.bin")
	c.run(t, "destroy", "-auto-approve")
}

// wantForgotten fails unless a plan forgets one resource and changes no other.
func wantForgotten(t *testing.T, changes []change, address string) {
	t.Helper()
	found := false
	for _, ch := range changes {
		switch actions := strings.Join(ch.Change.Actions, " "); {
		case ch.Address == address && actions == "forget":
			found = true
		case actions != "no-op":
			t.Errorf("%s: %s", ch.Address, actions)
		}
	}
	if !found {
		t.Errorf("%s is not forgotten: %+v", address, changes)
	}
}

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &out.Object); err != nil {
		t.Fatal(err)
	}
	return out
}
