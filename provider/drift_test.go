package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// patch changes an object as kubectl does.
func patch(t *testing.T, kind schema.GroupVersionResource, name, body string) {
	t.Helper()
	_, err := objects.Resource(kind).Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "kubectl-patch"})
	if err != nil {
		t.Fatal(err)
	}
}

// watchful is the head of a configuration whose plans look ahead.
func watchful(arguments string) string {
	head, _, _ := strings.Cut(requiring(), "provider \"packhorse\"")
	return head + lookingAhead(arguments)
}

// wantText fails unless an output has the words, in whatever lines.
func wantText(t *testing.T, what, out, text string) {
	t.Helper()
	if !words(text).MatchString(out) {
		t.Errorf("%s does not say %q:\n%s", what, text, out)
	}
}

// Default tags that are known only after apply keep from neither a refresh nor a destroy.
func TestUnknownDefaultTags(t *testing.T) {
	const name = "unknown-tags"
	c := newCLI(t, nil)
	c.write(t, map[string]string{"main.tf": watchful("default_tags = { applied = timestamp() }") + fmt.Sprintf(`
resource "packhorse_provisioner" "test" {
  name   = %[1]q
  weight = 10
}
resource "packhorse_interruption_queue" "test" {
  name = %[1]q
}
`, name)})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	patch(t, api.ProvisionerGVR, name, `{"spec":{"weight":77}}`)
	out := c.run(t, "plan", "-out=plan.bin")
	wantText(t, "the plan", out, "weight = 77 -> 10")
	if !regexp.MustCompile(`"applied" = "[^"]*"\s*\} -> \(known after apply\)`).MatchString(out) {
		t.Errorf("the plan knows the tags of the queue: %s", out)
	}
	c.run(t, "apply", "plan.bin")
	c.run(t, "destroy", "-auto-approve")
}

// A field that somebody has changed is a diff like any other, which an apply takes
// back, and nothing of it keeps from destroying.
func TestDriftIsAnOrdinaryDiff(t *testing.T) {
	const name = "drifting"
	for title, c := range map[string]struct{ arguments, patch, plan, field string }{
		"a number": {
			"weight = 10", `{"spec":{"weight":20}}`, "weight = 20 -> 10", "weight",
		},
		"an entry": {
			"limits = { cpu = \"100\" }", `{"spec":{"limits":{"resources":{"cpu":"7"}}}}`, `"cpu" = "7" -> "100"`,
			`limits["cpu"]`,
		},
		"a list": {
			"instance_types = [\"m5.large\", \"m5.xlarge\"]", `{"spec":{"instanceTypes":["m5.large"]}}`, `"m5.xlarge"`, "instance_types",
		},
	} {
		t.Run(title, func(t *testing.T) {
			c := c
			terraform := newCLI(t, nil)
			terraform.write(t, map[string]string{"main.tf": watchful("") + fmt.Sprintf("resource \"packhorse_provisioner\" \"test\" {\n name = %q\n %s\n}\n", name, c.arguments)})
			terraform.run(t, "init")
			terraform.run(t, "apply", "-auto-approve")
			patch(t, api.ProvisionerGVR, name, c.patch)
			out := terraform.run(t, "plan", "-out=plan.bin")
			wantText(t, "the plan", out, c.plan)
			wantText(t, "the plan", out, c.field+`: field manager "kubectl-patch" has changed it, and an apply changes it back`)
			terraform.run(t, "apply", "plan.bin")
			wantNoChange(t, "the plan after the apply", terraform.plan(t))
			patch(t, api.ProvisionerGVR, name, c.patch)
			terraform.run(t, "destroy", "-auto-approve")
		})
	}
}

// No warning shows what the plan masks.
func TestDriftOfASensitiveValue(t *testing.T) {
	const name = "drifting-secret"
	c := newCLI(t, nil)
	c.write(t, map[string]string{"main.tf": watchful("") + fmt.Sprintf(`
variable "user_data" {
  sensitive = true
  default   = "#!/bin/sh\nregister planted-token\n"
}
resource "packhorse_node_profile" "test" {
  name      = %q
  user_data = var.user_data
}
`, name)})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	patch(t, api.NodeTemplateGVR, name, `{"spec":{"userData":"#!/bin/sh\nplanted-edit\n"}}`)
	out := c.run(t, "plan")
	wantText(t, "the plan", out, `user_data: field manager "kubectl-patch" has changed it`)
	if strings.Contains(out, "planted") {
		t.Errorf("the plan shows what is sensitive:\n%s", out)
	}
	c.run(t, "destroy", "-auto-approve")
}

// What changes after the plan is not overwritten unseen.
func TestDriftAfterThePlanIsAConflict(t *testing.T) {
	for name, c := range map[string]struct{ before, after, patch, field string }{
		"drifting-late":  {"weight = 10", "weight = 10\n pod_binding = \"Immediate\"", `{"spec":{"weight":20}}`, ".spec.weight"},
		"drifting-label": {"labels = { version = \"1.0\" }", "labels = { version = \"2\" }", `{"spec":{"labels":{"version":"1"}}}`, ".spec.labels.version"}, // no quantity
	} {
		t.Run(name, func(t *testing.T) {
			terraform := newCLI(t, nil)
			config := func(arguments string) map[string]string {
				return map[string]string{"main.tf": watchful("") + fmt.Sprintf("resource \"packhorse_provisioner\" \"test\" {\n name = %q\n %s\n}\n", name, arguments)}
			}
			terraform.write(t, config(c.before))
			terraform.run(t, "init")
			terraform.run(t, "apply", "-auto-approve")
			terraform.write(t, config(c.after))
			terraform.run(t, "plan", "-out=plan.bin")
			patch(t, api.ProvisionerGVR, name, c.patch)
			out, err := terraform.try(t, "apply", "plan.bin")
			if err == nil {
				t.Error("an apply has overwritten what its plan has not seen")
			}
			wantText(t, "the apply", out, c.field+` belongs to "kubectl-patch"`)
			wantText(t, "the apply", out, "It has changed since the plan. Plan again, which shows the value.")
			if strings.Contains(out, "remove these fields") {
				t.Errorf("the apply advises to remove what the user wants to keep:\n%s", out)
			}
			terraform.run(t, "apply", "-auto-approve")
			terraform.run(t, "destroy", "-auto-approve")
		})
	}
}

// A field that somebody has only spelt in another way is not drift, and can be changed
// like any other.
func TestWhatIsOnlyRespeltCanBeChanged(t *testing.T) {
	const name = "drifting-respelt"
	terraform := newCLI(t, nil)
	config := func(cpu string) map[string]string {
		return map[string]string{"main.tf": watchful("") + fmt.Sprintf("resource \"packhorse_provisioner\" \"test\" {\n name = %q\n limits = { cpu = %q }\n}\n", name, cpu)}
	}
	terraform.write(t, config("1.5"))
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	patch(t, api.ProvisionerGVR, name, `{"spec":{"limits":{"resources":{"cpu":"1500m"}}}}`)
	wantNoChange(t, "the plan after the edit", terraform.plan(t))
	terraform.write(t, config("2"))
	terraform.run(t, "apply", "-auto-approve")
	wantNoChange(t, "the plan after the apply", terraform.plan(t))
	terraform.run(t, "destroy", "-auto-approve")
}

// A field that this resource has never declared belongs to whoever has, unless the
// resource itself takes it.
func TestForceConflictsOfOneResource(t *testing.T) {
	const name = "contended"
	terraform := newCLI(t, nil)
	config := func(block, arguments string) map[string]string {
		return map[string]string{"main.tf": watchful(block) + fmt.Sprintf("resource \"packhorse_provisioner\" \"test\" {\n name = %q\n %s\n}\n", name, arguments)}
	}
	terraform.write(t, config("", "pod_binding = \"Immediate\""))
	terraform.run(t, "init")
	terraform.run(t, "apply", "-auto-approve")
	patch(t, api.ProvisionerGVR, name, `{"spec":{"weight":20}}`)
	for title, files := range map[string]map[string]string{
		"by default":         config("", "weight = 10"),
		"refused by the one": config("force_conflicts = true", "weight = 10\n force_conflicts = false"),
	} {
		terraform.write(t, files)
		out, err := terraform.try(t, "plan")
		if err == nil {
			t.Errorf("%s: the plan takes a field away", title)
		}
		wantText(t, title, out, `.spec.weight belongs to "kubectl-patch"`)
	}
	terraform.write(t, config("", "weight = 10\n force_conflicts = true"))
	terraform.run(t, "apply", "-auto-approve")
	wantNoChange(t, "the plan after the apply", terraform.plan(t))
	terraform.run(t, "destroy", "-auto-approve")
}
