package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// All resources keep to the time that the configuration gives them.
func TestTimeouts(t *testing.T) {
	tests := map[string]string{
		"packhorse_provisioner":        `node_profile = { subnet_selector = { a = "b" }, security_group_selector = { a = "b" } }`,
		"packhorse_node_profile":       `subnet_selector = { a = "b" }` + "\n" + `security_group_selector = { a = "b" }`,
		"packhorse_irsa_role":          agentAccount + "\n identity = \"pod-identity\"",
		"packhorse_node_role":          "",
		"packhorse_interruption_queue": "",
	}
	for typeName, arguments := range tests {
		t.Run(typeName, func(t *testing.T) {
			config := func(limits string) string {
				return byName() + fmt.Sprintf("resource %q \"test\" {\n name = \"hurried\"\n%s\n timeouts {\n%s\n }\n}\n", typeName, arguments, limits)
			}
			const enough = "create = \"5m\"\n update = \"5m\"\n delete = \"5m\""
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{
					{Config: config(`create = "1ns"`), ExpectError: regexp.MustCompile(`(?s)context\s+deadline\s+exceeded`)},
					{Config: config("create = \"a while\""), ExpectError: regexp.MustCompile(`(?s)a while`)},
					{Config: config(enough), ConfigPlanChecks: plansEmpty},
				},
			})
		})
	}
}
