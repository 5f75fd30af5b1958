package provider_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const profileAddress = "packhorse_node_profile.test"

func profileConfig(name, arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_node_profile\" \"test\" {\n  name = %q\n%s\n}\n", name, arguments)
}

const wholeProfile = `
  subnet_selector         = { "karpenter.sh/discovery" = "prod", Name = "" }
  security_group_selector = { "aws::ids" = "sg-0123456789abcdef0,sg-0123456789abcdef1" }
  instance_profile        = "node"
  ami_family              = "Custom"
  ami_selector            = { "aws::name" = "node-*" }
  user_data               = "#!/bin/sh\necho hello\n"
  tags                    = { Name = "node" }
  metadata_options        = { http_endpoint = "enabled", http_protocol_ipv6 = "disabled", http_put_response_hop_limit = 1, http_tokens = "required" }
  block_device_mappings = [{
    device_name = "/dev/xvda"
    root_volume = true
    ebs = {
      volume_size           = "50Gi"
      volume_type           = "gp3"
      iops                  = 3000
      throughput            = 125
      encrypted             = true
      kms_key_id            = "key"
      snapshot_id           = "snap-1"
      delete_on_termination = true
    }
  }]
  detailed_monitoring = true
`

func TestNodeProfile(t *testing.T) {
	name := "profile"
	empty := resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: profileConfig(name, wholeProfile), ConfigPlanChecks: empty,
				Check: func(*terraform.State) error { return sizeIsSpelt(t, name, "50Gi") },
			},
			{
				ResourceName: profileAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name",
			},
			{ResourceName: profileAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: name},
			{
				Config: profileConfig(name, `
  subnet_selector         = { "karpenter.sh/discovery" = "prod" }
  block_device_mappings   = [{ device_name = "/dev/xvda", ebs = { volume_size = "60Gi" } }]`),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(profileAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: empty.PostApplyPostRefresh,
				},
				Check: func(*terraform.State) error { return sizeIsSpelt(t, name, "60Gi") },
			},
			{
				PreConfig: func() { remove(t, api.NodeTemplateGVR, name) },
				Config:    profileConfig(name, `subnet_selector = { "karpenter.sh/discovery" = "prod" }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(profileAddress, plancheck.ResourceActionCreate),
				}},
			},
		},
	})
}

// A profile that declares nothing but its name leaves to others what they set.
func TestNodeProfileOfDefaultsTakesNothingOver(t *testing.T) {
	const name = "bare"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: profileConfig(name, "")},
			{
				PreConfig: func() {
					apply(t, "kubectl", api.NodeTemplateGVR, api.NodeTemplateKind, name, `{detailedMonitoring: true}`)
				},
				Config:           profileConfig(name, ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
		},
	})
}

func sizeIsSpelt(t *testing.T, name, want string) error {
	spec := object(t, api.NodeTemplateGVR, name).Object["spec"].(map[string]any)
	volume := spec["blockDeviceMappings"].([]any)[0].(map[string]any)["ebs"].(map[string]any)
	if diff := cmp.Diff(want, volume["volumeSize"]); diff != "" {
		return fmt.Errorf("volume size (-want +got):\n%s", diff)
	}
	return nil
}
