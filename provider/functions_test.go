package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
)

const nodePool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: batch}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [spot, reserved]}
  limits: {cpu: 100}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: prod}}]
`

func TestFunctions(t *testing.T) {
	text, number := knownvalue.StringExact, knownvalue.Int64Exact
	requirement := func(key, operator string, values ...knownvalue.Check) knownvalue.Check {
		return knownvalue.ObjectExact(map[string]knownvalue.Check{
			"key": text(key), "operator": text(operator), "values": knownvalue.ListExact(values),
		})
	}
	converted := func(path string) string {
		return fmt.Sprintf("provider::packhorse::from_karpenter_yaml(<<YAML\n%s\nYAML\n)%s", nodePool, path)
	}
	tests := map[string]struct {
		expression string
		want       knownvalue.Check
	}{
		"a quantity of memory":          {`provider::packhorse::parse_quantity("1.5Gi")`, number(1610612736)},
		"a quantity of CPU":             {`provider::packhorse::parse_quantity("500m")`, knownvalue.Float64Exact(0.5)},
		"the size of a policy":          {`provider::packhorse::policy_size("{ \"Version\": 1 }\n")`, number(13)},
		"the parts of an instance type": {`provider::packhorse::instance_type_parts("m7g.large").generation`, number(7)},
		"requirements that narrow each other": {
			`provider::packhorse::requirements_intersect(
  [{ key = "beta.kubernetes.io/arch", operator = "In", values = ["amd64", "arm64"] }, { key = "karpenter.k8s.aws/instance-cpu", operator = "Gt", values = ["3"] }],
  [{ key = "kubernetes.io/arch", operator = "NotIn", values = ["amd64"] }, { key = "example.com/tier", operator = "Exists" }])`,
			knownvalue.ListExact([]knownvalue.Check{
				requirement("example.com/tier", "Exists"),
				requirement("karpenter.k8s.aws/instance-cpu", "Gte", text("4")),
				requirement("kubernetes.io/arch", "In", text("arm64")),
			}),
		},
		"a trust policy": {
			`jsondecode(provider::packhorse::trust_policy("arn:aws:iam::123456789012:oidc-provider/issuer/id", "a/b")).Statement[0].Condition.StringEquals["issuer/id:sub"]`,
			text("system:serviceaccount:a:b"),
		},
		"a NodePool's limits": {converted(`.provisioners.batch.limits.cpu`), text("100")},
		"a NodePool's capacity types": {
			converted(`.provisioners.batch.requirements[0].values`), knownvalue.ListExact([]knownvalue.Check{text("spot")}),
		},
		"an EC2NodeClass's family": {converted(`.node_profiles.gpu.ami_family`), text("AL2023")},
		"a document of another kind": {
			`provider::packhorse::from_karpenter_yaml("apiVersion: v1\nkind: Pod\nmetadata: {name: a}").losses`,
			knownvalue.ListExact([]knownvalue.Check{text("Pod a: is skipped: the kinds are Provisioner, AWSNodeTemplate, NodePool and EC2NodeClass")}),
		},
		"what is lost": {converted(`.losses`), knownvalue.ListExact([]knownvalue.Check{
			text("AWSNodeTemplate gpu: spec.role: name the role's instance profile in instance_profile, or give the agent a default one"),
			text("Provisioner batch: spec.template.spec.requirements[0].values: a Provisioner buys from no capacity reservation"),
		})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps: []resource.TestStep{{
					Config:            "output \"out\" {\n value = " + tt.expression + "\n}\n",
					ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownOutputValue("out", tt.want)},
				}},
			})
		})
	}
}

func TestFunctionsSayWhatIsWrong(t *testing.T) {
	tests := map[string]struct{ expression, want string }{
		"no quantity":      {`provider::packhorse::parse_quantity("2 cores")`, `"2 cores" is not a quantity`},
		"no instance type": {`provider::packhorse::instance_type_parts("large")`, `"large" is not an instance type`},
		"a contradiction": {
			`provider::packhorse::requirements_intersect([{ key = "a", operator = "In", values = ["b"] }], [{ key = "a", operator = "DoesNotExist" }])`,
			`a DoesNotExist contradicts In [b]: no value meets both`,
		},
		"no ARN":            {`provider::packhorse::trust_policy("issuer", "a/b")`, `is not the ARN of an IAM OIDC provider`},
		"a pattern":         {`provider::packhorse::trust_policy("arn:aws:iam::123456789012:oidc-provider/i", "a/*")`, `"a/*" is not a ServiceAccount`},
		"no ServiceAccount": {`provider::packhorse::trust_policy("arn:aws:iam::123456789012:oidc-provider/i")`, `name at least one ServiceAccount`},
		"no name":           {`provider::packhorse::from_karpenter_yaml("apiVersion: karpenter.sh/v1\nkind: NodePool")`, `a document of kind "NodePool" has no metadata.name`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: "output \"out\" {\n value = " + tt.expression + "\n}\n", ExpectError: words(tt.want)}},
			})
		})
	}
}

func TestClusterTokenIsNotStored(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			// The second provider block reaches the cluster with the token alone.
			Config: byName() + `
ephemeral "packhorse_cluster_token" "test" {}

data "packhorse_cluster" "test" {}

provider "packhorse" {
  alias = "token"
  kubernetes = {
    host                   = data.packhorse_cluster.test.endpoint
    cluster_ca_certificate = data.packhorse_cluster.test.certificate_authority
    token                  = ephemeral.packhorse_cluster_token.test.token
  }
}

resource "packhorse_provisioner" "test" {
  provider = packhorse.token
  name     = "by-token"
  weight   = 1
}
`,
		}},
	})
}
