package provider_test

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

// What AWS would refuse, or take for something else, never gets as far as the apply.
func TestIAMIsCheckedAtPlan(t *testing.T) {
	agent := func(arguments string) string {
		return roleConfig("checked", agentAccount+"\n preset = \"agent\"\n"+arguments)
	}
	account := func(arguments string) string { return roleConfig("checked", agentAccount+"\n"+arguments) }
	node := func(arguments string) string { return nodeRoleConfig("checked", arguments) }
	queue := func(arguments string) string { return queueConfig("checked", arguments) }
	data := func(arguments string) string {
		return "data \"packhorse_iam_policies\" \"test\" {\n cluster_name = \"prod\"\n" + arguments + "\n}\n"
	}
	const oneRole = "node_roles = [\"arn:aws:iam::123456789012:role/node\"]\n"
	for name, tt := range map[string]struct{ config, want string }{
		"all roles":                     {agent(`node_roles = ["*"]`), `node_roles: "*" must be the name of an IAM role without its path, or its ARN`},
		"all roles of the account":      {agent(`node_roles = ["arn:aws:iam::123456789012:role/*"]`), "wildcards are refused"},
		"a role's name with its path":   {agent(`node_roles = ["nodes/node"]`), `node_roles: "nodes/node" must be`},
		"a queue's name":                {agent(oneRole + `interruption_queue_arn = "prod"`), `interruption_queue_arn: "prod" must be the ARN of an SQS queue`},
		"all queues":                    {agent(oneRole + `interruption_queue_arn = "arn:aws:sqs:eu-west-1:123456789012:*"`), "wildcards are refused"},
		"a name":                        {roleConfig("no spaces", agentAccount), `name: "no spaces" must be the name of an IAM role`},
		"a path without slashes":        {account(`path = "apps"`), `path: "apps" must be a path of IAM`},
		"a policy's name":               {account(`policy_arns = ["ReadOnlyAccess"]`), `policy_arns: "ReadOnlyAccess" must be the ARN of a managed policy`},
		"a boundary's name":             {account(`permissions_boundary = "boundary"`), `permissions_boundary: "boundary" must be the ARN`},
		"a reserved tag":                {account(`tags = { "aws:team" = "a" }`), `tags["aws:team"]: the prefix aws: is reserved by AWS`},
		"a tag's letters":               {account(`tags = { team = "a!" }`), `tags["team"]: the value "a!" may only contain`},
		"a default tag":                 {lookingAhead(`default_tags = { "AWS:team" = "a" }`) + declared, `default_tags["AWS:team"]: the prefix aws: is reserved`},
		"a cluster":                     {account(`cluster_name = "*"`), `cluster_name: "*" must be the name of an EKS cluster`},
		"a policy without an effect":    {account(`policies = { a = jsonencode({ Statement = [{ Action = "s3:*", Resource = "*" }] }) }`), `policies["a"]: statement 1: its Effect "" must be Allow or Deny`},
		"a policy's misspelt key":       {account(`policies = { a = jsonencode({ Statements = [] }) }`), `policies["a"]: is not an IAM policy: unknown field "Statements"`},
		"a policy without a document":   {account(`policies = { a = null }`), `policies["a"]: has no document`},
		"the name of an inline policy":  {account(`policies = { "a b" = jsonencode({ Statement = [{ Effect = "Allow", Action = "s3:*", Resource = "*" }] }) }`), `policies["a b"]: "a b" must be the name of an inline policy`},
		"a node role's path":            {node(`path = "nodes"`), `path: "nodes" must be a path of IAM`},
		"a node role's policy":          {node(`policy_arns = ["arn:aws:iam::aws:role/x"]`), `policy_arns: "arn:aws:iam::aws:role/x" must be the ARN of a managed policy`},
		"a node role's boundary":        {node(`permissions_boundary = "x"`), `permissions_boundary: "x" must be the ARN`},
		"a node role's inline policy":   {node(`policies = { a = jsonencode({ Statement = [{ Effect = "allow", Action = "s3:*", Resource = "*" }] }) }`), `its Effect "allow" must be Allow or Deny`},
		"an instance profile's ARN":     {node(`instance_profile = "arn:aws:iam::123456789012:instance-profile/x"`), "instance_profile:"},
		"a queue's key":                 {queue(`kms_key_id = "packhorse"`), `kms_key_id: "packhorse" must be the id, the alias`},
		"the AWS managed key of SQS":    {queue(`kms_key_id = "alias/aws/sqs"`), `kms_key_id: "alias/aws/sqs" is an AWS managed key, which EventBridge cannot use`},
		"an AWS managed key's ARN":      {queue(`kms_key_id = "arn:aws:kms:eu-west-1:123456789012:alias/aws/sqs"`), "is an AWS managed key"},
		"a queue's tag":                 {queue(`tags = { "aws:a" = "b" }`), "the prefix aws: is reserved by AWS"},
		"the agent's role":              {agentConfig(`role_arn = "arn:aws:iam::123456789012:role/*"`), "must be the ARN of an IAM role"},
		"policies for all roles":        {data(`node_roles = ["*"]`), `node_roles: "*" must be`},
		"policies for a queue's name":   {data(oneRole + `interruption_queue_arn = "prod"`), `interruption_queue_arn: "prod" must be`},
		"policies for some account":     {data(oneRole + `account_id = "12"`), `account_id: "12" must be an AWS account`},
		"policies for some region":      {data(oneRole + `region = "Ireland"`), `region: "Ireland" must be an AWS region`},
		"a name in a foreign account":   {data(`node_roles = ["packhorse-node"]` + "\n account_id = \"210987654321\""), "give the ARN of a role in 210987654321"},
		"a name that nobody has":        {data(`node_roles = ["nobody"]`), `node_roles: IAM role "nobody" does not exist`},
		"a name where nothing is asked": {data("node_roles = [\"node\"]\n partition = \"aws\"\n region = \"eu-west-1\"\n account_id = \"210987654321\""), "node_roles: node is a name"},
	} {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: tt.config, PlanOnly: true, ExpectError: words(tt.want)}},
			})
		})
	}
}

// The path of a role is part of its ARN, and nothing in its name tells it.
func TestNodeRoleWithAPathIsPassedByItsARN(t *testing.T) {
	config := byName() + `
resource "packhorse_node_role" "nodes" {
  name = "pathed"
  path = "/nodes/"
}

resource "packhorse_irsa_role" "test" {
  name                 = "passes"
  create_oidc_provider = true
  service_accounts     = [{ namespace = "packhorse", name = "packhorse-agent" }]
  preset               = "agent"
  node_roles           = [packhorse_node_role.nodes.name]
}

data "packhorse_iam_policies" "test" {
  node_roles = [packhorse_node_role.nodes.name]
  depends_on = [packhorse_node_role.nodes]
}
`
	passed := knownvalue.StringRegexp(regexp.MustCompile(`"arn:aws:iam::123456789012:role/nodes/pathed"`))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: config, ConfigPlanChecks: plansEmpty,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(roleAddress, at("preset_policies", "packhorse-node-role"), passed),
				statecheck.ExpectKnownValue("data.packhorse_iam_policies.test", at("policies", "packhorse-node-role"), passed),
			},
		}},
	})
}

func TestNodeRoleThatIsNotThereIsNotPassed(t *testing.T) {
	arguments := agentAccount + "\n preset = \"agent\"\n node_roles = [\"nobody\"]\n timeouts {\n create = \"2s\"\n }\n"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             noRole("passes-nobody"),
		Steps: []resource.TestStep{{
			Config:      roleConfig("passes-nobody", arguments),
			ExpectError: words(fmt.Sprintf("node_roles: IAM role %q does not exist: create it first", "nobody")),
		}},
	})
}
