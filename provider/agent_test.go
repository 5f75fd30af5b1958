package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// What the agent does in a cluster is tested in internal/e2e, where it has a node
// to run on. Here is what can be said without.

func agentConfig(arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_agent\" \"test\" {\n%s\n}\n", arguments)
}

func TestAgentValidation(t *testing.T) {
	for name, tt := range map[string]struct{ config, want string }{
		"a namespace":                  {`namespace = "Big"`, `namespace: Invalid value: "Big"`},
		"an unknown option":            {`options = { "batch-idel" = "2s" }`, `is not an option of the agent; did you mean "batch-idle"?`},
		"an option out of range":       {`options = { "reserved-enis" = "-5" }`, `options[reserved-enis]: Invalid value: "-5": the nearest sensible value is 0`},
		"a share as a fraction":        {`options = { "vm-memory-overhead-percent" = "0.075" }`, `the nearest sensible value is 7.5`},
		"a batch that is over at once": {`options = { "batch-idle" = "20s" }`, `options[batch-max]: Invalid value: "10s": must not be less than batch-idle: the nearest sensible value is 20s`},
		"an option's value":            {`options = { "batch-idle" = "2" }`, `options[batch-idle]: Invalid value: "2": must be a duration such as 15m`},
		"an attribute's flag":          {`options = { "region" = "eu-west-1" }`, `has a setting of its own: set the region`},
		"NodePools on and off": {`node_pools = true
 options = { "node-pools" = "false" }`, `node_pools is true, and options["node-pools"] is "false"`},
		"a queue's URL":         {`interruption_queue = "https://sqs.eu-west-1.amazonaws.com/1/q"`, `must be the name of an SQS queue, not its URL or ARN`},
		"a role's name":         {`role_arn = "agent"`, `role_arn: Invalid value: "agent": must be the ARN of an IAM role`},
		"an amount":             {`memory = "none"`, `memory: Invalid value: "none": must be a quantity from 64Mi to 1Ti, such as 512Mi`},
		"a toleration":          {`tolerations = [{ key = "a", effect = "Never" }]`, `tolerations[0].effect: Unsupported value: "Never"`},
		"what to do with nodes": {`on_destroy = "delete"`, `value must be one of: ["refuse" "drain" "orphan"], got: "delete"`},
		"no replica":            {`replicas = 0`, `Attribute replicas value must be between 1 and 100, got: 0`},
		"a variable of ours":    {`environment = { AWS_REGION = "x" }`, `is set by the installation: set region`},
		"an endpoint's name":    {`endpoints = { prcing = "https://pricing.internal" }`, `endpoints: Invalid value: "prcing": is not an AWS service that the agent calls; did you mean "pricing"?`},
		"an endpoint":           {`endpoints = { ec2 = "ec2.internal" }`, `endpoints[ec2]: Invalid value: "ec2.internal": must be the URL of an AWS service`},
	} {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: agentConfig(tt.config), PlanOnly: true, ExpectError: words(tt.want)}},
			})
		})
	}
}

// A plan tells what will be installed, and needs no cluster for it.
func TestAgentPlan(t *testing.T) {
	const address = "packhorse_agent.test"
	value := func(name string, want knownvalue.Check) plancheck.PlanCheck {
		return plancheck.ExpectKnownValue(address, tfjsonpath.New(name), want)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: agentConfig("image_pull_secrets = [\"pull\", null]\n tolerations = [null]"), PlanOnly: true, ExpectNonEmptyPlan: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
					value("cluster_name", knownvalue.StringExact(box.ClusterName)),
					value("region", knownvalue.StringExact(box.Region)), // which the environment says
					value("image", knownvalue.StringExact("ghcr.io/packhorse-io/packhorse-agent:test")),
					value("namespace", knownvalue.StringExact("packhorse")),
					value("on_destroy", knownvalue.StringExact("drain")),
					value("revision", knownvalue.NotNull()),
					plancheck.ExpectUnknownValue(address, tfjsonpath.New("leader")),
				}},
			},
			{
				Config:   agentConfig("endpoints = { ec2 = terraform_data.later.output }") + "resource \"terraform_data\" \"later\" {\n input = \"https://ec2.internal\"\n}\n",
				PlanOnly: true, ExpectNonEmptyPlan: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue(address, tfjsonpath.New("revision")),
				}},
			},
			{
				Config: agentConfig("options = { tag = terraform_data.later.id }\n role_arn = terraform_data.later.output") +
					"resource \"terraform_data\" \"later\" {\n input = \"arm64\"\n}\n",
				PlanOnly: true, ExpectNonEmptyPlan: true,
				ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue(address, tfjsonpath.New("revision")),
				}},
			},
		},
	})
}

// The agent takes the endpoints of the provider block for the services that it calls,
// unless the resource or the environment of its pods says otherwise. What Terraform's
// own environment says is not for the agent.
func TestAgentEndpoints(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_SSM", "https://ssm.of-terraform")
	const block = `endpoints = { ec2 = "https://ec2.internal", sqs = "https://sqs.internal", events = "https://events.internal", pricing = "" }`
	none := knownvalue.Null()
	urls := func(values map[string]string) knownvalue.Check {
		exact := map[string]knownvalue.Check{}
		for service, url := range values {
			exact[service] = knownvalue.StringExact(url)
		}
		return knownvalue.MapExact(exact)
	}
	for name, tt := range map[string]struct {
		block, arguments string
		want             knownvalue.Check
	}{
		"nothing":            {"", "", none},
		"the provider block": {block, "", urls(map[string]string{"ec2": "https://ec2.internal", "sqs": "https://sqs.internal"})},
		"the resource":       {block, `endpoints = { eks = "https://eks.internal" }`, urls(map[string]string{"eks": "https://eks.internal"})},
		"none":               {block, `endpoints = {}`, urls(nil)},
		"a variable":         {block, `environment = { AWS_ENDPOINT_URL_EC2 = "https://own" }`, urls(map[string]string{"sqs": "https://sqs.internal"})},
		"a variable for all": {block, `environment = { AWS_ENDPOINT_URL = "https://own" }`, none},
	} {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config:   lookingAhead(" plan_checks = \"off\"\n "+tt.block) + "resource \"packhorse_agent\" \"test\" {\n" + tt.arguments + "\n}\n",
					PlanOnly: true, ExpectNonEmptyPlan: true,
					ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
						plancheck.ExpectKnownValue("packhorse_agent.test", tfjsonpath.New("endpoints"), tt.want),
						plancheck.ExpectKnownValue("packhorse_agent.test", tfjsonpath.New("revision"), knownvalue.NotNull()),
					}},
				}},
			})
		})
	}
}
