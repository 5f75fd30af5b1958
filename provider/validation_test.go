package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

func TestValidationNamesTheAttribute(t *testing.T) {
	requirement := func(r string) string { return "requirements = [" + r + "]" }
	tests := map[string]struct{ config, want string }{
		"a value that does not exist": {
			provisionerConfig("v", requirement(`{ key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "rented"] }`)),
			`requirements[0].values[1]: Unsupported value: "rented": must be one of "spot", "on-demand"`,
		},
		"the valid value that was meant": {
			provisionerConfig("v", requirement(`{ key = "karpenter.sh/capacity-type", operator = "In", values = ["on_demand"] }`)),
			`Did you mean "on-demand"?`,
		},
		"an unknown operator": {
			provisionerConfig("v", requirement(`{ key = "a", operator = "Equals", values = ["b"] }`)), `requirements[0].operator:`,
		},
		"a restricted label": {
			provisionerConfig("v", `labels = { "karpenter.sh/provisioner-name" = "x" }`), `labels["karpenter.sh/provisioner-name"]:`,
		},
		"consolidation and emptiness": {
			provisionerConfig("v", "consolidation = { enabled = true }\n ttl_seconds_after_empty = 30"), `consolidation`,
		},
		"a weight out of range":   {provisionerConfig("v", "weight = 101"), `weight: Invalid value: 101: must be from 1 to 100`},
		"a weight beyond 32 bits": {provisionerConfig("v", "weight = 99999999999"), `weight:`},
		"a name that is no label": {provisionerConfig("Not_A_Name", ""), `name: Invalid value: "Not_A_Name"`},
		"a quantity":              {provisionerConfig("v", `limits = { cpu = "10 cores" }`), `limits["cpu"]:`},
		"a duration":              {provisionerConfig("v", `disruption = { consolidate_after = "2d" }`), `disruption.consolidate_after:`},
		"an inline profile and a reference": {
			provisionerConfig("v", "provider_ref = { name = \"x\" }\n node_profile = { ami_family = \"AL2\" }"), `provider_ref: Forbidden: cannot be combined`,
		},
		"an inline profile": {
			provisionerConfig("v", `node_profile = { ami_family = "AL3" }`), `node_profile.ami_family: Unsupported value: "AL3"`,
		},
		"a volume": {
			profileConfig("v", `block_device_mappings = [{ device_name = "/dev/xvda", ebs = { volume_size = "1Ti", volume_type = "sc2" } }]`),
			`block_device_mappings[0].ebs.volume_type:`,
		},
		"a launch template of one's own": {
			profileConfig("v", "launch_template = \"mine\"\n instance_profile = \"node\""), `instance_profile: Forbidden: the launch template holds this already`,
		},
		"what is known beside something unknown": {
			provisionerConfig("v", requirement(
				`{ key = "kubernetes.io/arch", operator = "In", values = [terraform_data.later.output] }, { key = "kubernetes.io/os", operator = "On", values = ["linux"] }`)) +
				"resource \"terraform_data\" \"later\" {\n input = \"arm64\"\n}\n",
			`requirements[1].operator:`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: tt.config, PlanOnly: true, ExpectError: words(tt.want)}},
			})
		})
	}
}

func TestValidationLeavesUnknownAlone(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: provisionerConfig("later", `
  requirements = [{ key = "kubernetes.io/arch", operator = "In", values = [terraform_data.later.output] }]
  limits       = { cpu = terraform_data.later.id == "" ? "1" : "2" }
  taints       = terraform_data.later.output == "arm64" ? [{ key = "a", effect = "NoSchedule" }] : []`) +
				"resource \"terraform_data\" \"later\" {\n input = \"arm64\"\n}\n",
		}},
	})
}
