package provider_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/policy"
)

// Trust policies of CloudFormation and others spell the same in another way. Neither an import nor an update of
// something else changes them.
func TestTrustOfOthersKeepsItsSpelling(t *testing.T) {
	pods, err := policy.Trust{
		Provider: policy.ProviderARN("aws", "123456789012", box.Host), Issuer: box.Host, Accounts: []policy.ServiceAccount{{Namespace: "packhorse", Name: "packhorse-agent"}},
	}.JSON()
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := policy.NodeTrust("aws")
	if err != nil {
		t.Fatal(err)
	}
	for resource, tt := range map[string]struct{ trust, action, arguments string }{
		"irsa_role": {pods, `"sts:AssumeRoleWithWebIdentity"`, "create_oidc_provider = true\n " + agentAccount},
		"node_role": {nodes, `"sts:AssumeRole"`, `access_entry = "none"`},
	} {
		t.Run(resource, func(t *testing.T) {
			name := "spelt-" + resource
			spelt := strings.NewReplacer(tt.action, "["+tt.action+"]", `"Effect"`, `"Sid":"1","Effect"`).Replace(tt.trust)
			if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &spelt}); err != nil {
				t.Fatal(err)
			}
			c := newCLI(t, nil)
			declare := func(arguments string) {
				c.write(t, map[string]string{"main.tf": requiring() + fmt.Sprintf(
					"import {\n to = packhorse_%[1]s.test\n id = %[2]q\n}\nresource \"packhorse_%[1]s\" \"test\" {\n name = %[2]q\n %[3]s\n %[4]s\n}\n", resource, name, tt.arguments, arguments)})
			}
			declare("")
			c.run(t, "init")
			for _, ch := range c.plan(t) {
				if before, after := ch.Change.Before["assume_role_policy"], ch.Change.After["assume_role_policy"]; before != after {
					t.Errorf("the import changes the trust policy from %s to %s", before, after)
				}
			}
			c.run(t, "apply", "plan.bin")
			declare(`description = "changed"`)
			c.run(t, "apply", "-auto-approve")
			wantNoChange(t, "the plan after an update", c.plan(t))
			live, err := roles.GetRole(t.Context(), &iam.GetRoleInput{RoleName: &name})
			if err != nil {
				t.Fatal(err)
			}
			if document, err := url.QueryUnescape(*live.Role.AssumeRolePolicyDocument); err != nil || document != spelt {
				t.Errorf("the trust policy is now %s, %v", document, err)
			}
			c.run(t, "destroy", "-auto-approve")
		})
	}
}
