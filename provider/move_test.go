package provider_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// requiring is the block that says where the providers come from.
func requiring(sources ...string) string {
	lines := []string{"packhorse = { source = \"packhorse/packhorse\" }"}
	for _, source := range sources {
		_, name, _ := strings.Cut(source, "/")
		lines = append(lines, fmt.Sprintf("%s = { source = %q }", name, source))
	}
	return "terraform {\n required_providers {\n" + strings.Join(lines, "\n") + "\n }\n}\n" + byName()
}

const movedSpec = `{weight: 5, limits: {resources: {cpu: 1000, memory: 1000Gi}}, requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}], ` +
	`ttlSecondsAfterEmpty: 30, consolidation: {enabled: false}, providerRef: {name: default}, taints: [{key: a, value: b, effect: NoSchedule}]}`

const movedProvisioner = `
resource "packhorse_provisioner" "test" {
  name                    = %q
  weight                  = %d
  limits                  = { cpu = "1k", memory = "1000Gi" }
  requirements            = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] }]
  ttl_seconds_after_empty = 30
  consolidation           = { enabled = false }
  provider_ref            = { name = "default" }
  taints                  = [{ key = "a", value = "b", effect = "NoSchedule" }]
}
`

func TestMoveOfManifests(t *testing.T) {
	const kinds = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: %s}\nspec: %s"
	tests := map[string]struct {
		source, manager string
		foreign         foreign
		argument        func(name string) string
	}{
		"kubernetes-manifest": {"hashicorp/kubernetes", "Terraform", kubernetesManifest, func(name string) string {
			return fmt.Sprintf("manifest = yamldecode(%q)", fmt.Sprintf(kinds, name, movedSpec))
		}},
		"kubectl-manifest": {"gavinbunney/kubectl", "kubectl-client-side-apply", kubectlManifest, func(name string) string {
			return fmt.Sprintf("yaml_body = %q", fmt.Sprintf(kinds, name, movedSpec))
		}},
		"alekc-manifest": {"alekc/kubectl", "terraform-provider-kubectl_v2.1.3", kubectlManifest, func(name string) string {
			return fmt.Sprintf("yaml_body = %q", fmt.Sprintf(kinds, name, movedSpec))
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			apply(t, tt.manager, api.ProvisionerGVR, "Provisioner", name, movedSpec)
			c := newCLI(t, map[string]func() tfprotov6.ProviderServer{tt.source: tt.foreign.server()})
			head := requiring(tt.source)
			c.write(t, map[string]string{"main.tf": head + fmt.Sprintf("resource %q \"test\" {\n %s\n}\n", tt.foreign.resource, tt.argument(name))})
			c.run(t, "init")
			c.run(t, "apply", "-auto-approve")

			moved := fmt.Sprintf("moved {\n from = %s.test\n to = %s\n}\n", tt.foreign.resource, provisionerAddress)
			c.write(t, map[string]string{"main.tf": head + moved + fmt.Sprintf(movedProvisioner, name, 5)})
			changes := c.plan(t)
			wantNoChange(t, "the plan of the move", changes)
			if len(changes) != 1 || changes[0].Previous != tt.foreign.resource+".test" {
				t.Errorf("changes = %+v, want the move alone", changes)
			}
			c.run(t, "apply", "plan.bin")

			// What the predecessor's field manager holds is taken over, though nothing is forced.
			c.write(t, map[string]string{"main.tf": head + fmt.Sprintf(movedProvisioner, name, 9)})
			c.run(t, "apply", "-auto-approve")
			if got := object(t, api.ProvisionerGVR, name).Object["spec"].(map[string]any)["weight"]; got != int64(9) {
				t.Errorf("weight = %v, want 9", got)
			}
			apply(t, tt.manager, api.ProvisionerGVR, "Provisioner", name, `{weight: 7}`)
			wantText(t, "the plan after a later change by the other manager", c.run(t, "plan"), "weight = 7 -> 9")
			remove(t, api.ProvisionerGVR, name)
		})
	}
}

func TestMoveRefusesOtherKinds(t *testing.T) {
	c := newCLI(t, map[string]func() tfprotov6.ProviderServer{"alekc/kubectl": kubectlManifest.server()})
	head := requiring("alekc/kubectl")
	c.write(t, map[string]string{"main.tf": head + "resource \"kubectl_manifest\" \"test\" {\n yaml_body = \"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\"\n}\n"})
	c.run(t, "init")
	c.run(t, "apply", "-auto-approve")
	c.write(t, map[string]string{"main.tf": head + "moved {\n from = kubectl_manifest.test\n to = packhorse_provisioner.test\n}\nresource \"packhorse_provisioner\" \"test\" {\n name = \"a\"\n}\n"})
	if out, err := c.try(t, "plan"); err == nil || !words("move to provisioner: the manifest is of v1 ConfigMap, not of karpenter.sh/v1alpha5 Provisioner").MatchString(out) {
		t.Errorf("plan: %v\n%s", err, out)
	}
}

// From resource types of hashicorp/aws.
func TestMoveOfAWSResources(t *testing.T) {
	ctx := t.Context()
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	if _, err := roles.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("moved-node"), AssumeRolePolicyDocument: &trust, Description: aws.String("nodes")}); err != nil {
		t.Fatal(err)
	}
	if _, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("moved-queue")}); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		foreign      foreign
		name, target string
		ours         string
		kept         string // an attribute that the refresh has read
	}{
		"a role": {awsRole, "moved-node", "packhorse_node_role.test", "resource \"packhorse_node_role\" \"test\" {\n name = \"moved-node\"\n description = \"nodes\"\n}\n", "description"},
		"a queue": {awsQueue, "moved-queue", "packhorse_interruption_queue.test",
			"resource \"packhorse_interruption_queue\" \"test\" {\n name = \"moved-queue\"\n}\n", "url"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, head := tt.foreign.applied(t, tt.name)
			moved := fmt.Sprintf("moved {\n from = %s.test\n to = %s\n}\n", tt.foreign.resource, tt.target)
			c.write(t, map[string]string{"main.tf": head + moved + tt.ours})
			changes := c.plan(t)
			if len(changes) != 1 || len(changes[0].Change.Actions) != 1 || changes[0].Change.Actions[0] != "update" || changes[0].Change.Before[tt.kept] == nil {
				t.Fatalf("changes = %+v, want an update in place that keeps %s", changes, tt.kept)
			}
			c.run(t, "apply", "plan.bin")
			wantNoChange(t, "the plan after the move", c.plan(t))
			c.run(t, "destroy", "-auto-approve")
		})
	}
}

// Without a refresh, a move keeps what it does not know yet.
func TestMoveWithoutRefreshReplacesNothing(t *testing.T) {
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`
	for _, name := range []string{"moved-blindly-node", "moved-blindly-pod"} {
		if _, err := roles.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String(name), AssumeRolePolicyDocument: &trust}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("moved-blindly")}); err != nil {
		t.Fatal(err)
	}
	for target, tt := range map[string]struct {
		foreign         foreign
		name, arguments string
	}{
		"packhorse_node_role":          {awsRole, "moved-blindly-node", ""},
		"packhorse_irsa_role":          {awsRole, "moved-blindly-pod", "create_oidc_provider = true\n " + agentAccount},
		"packhorse_interruption_queue": {awsQueue, "moved-blindly", ""},
	} {
		t.Run(target, func(t *testing.T) {
			c, head := tt.foreign.applied(t, tt.name)
			c.write(t, map[string]string{"main.tf": head + fmt.Sprintf("moved {\n from = %s.test\n to = %s.test\n}\nresource %q \"test\" {\n name = %q\n %s\n}\n",
				tt.foreign.resource, target, target, tt.name, tt.arguments)})
			says(t, c.run(t, "apply", "-refresh=false", "-auto-approve"), "0 added, 1 changed, 0 destroyed")
			wantNoChange(t, "the plan after the move", c.plan(t))
			c.run(t, "destroy", "-auto-approve")
		})
	}
}
