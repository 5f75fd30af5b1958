package provider_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

const provisionerAddress = "packhorse_provisioner.test"

func provisionerConfig(name, arguments string) string {
	return byName() + fmt.Sprintf("resource \"packhorse_provisioner\" \"test\" {\n  name = %q\n%s\n}\n", name, arguments)
}

// everything sets each argument of a provisioner that can go with the others.
const everything = `
  labels         = { "example.com/team" = "platform" }
  annotations    = { "example.com/note" = "hello" }
  taints         = [{ key = "dedicated", value = "batch", effect = "NoSchedule" }]
  startup_taints = [{ key = "cni.example.com/agent-not-ready", effect = "NoExecute" }]
  requirements = [
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["spot", "on-demand"] },
    { key = "karpenter.k8s.aws/instance-cpu", operator = "Gt", values = ["3"] },
    { key = "example.com/tier", operator = "Exists" },
  ]
  pod_overrides = ["kubernetes.io/arch"]
  kubelet_configuration = {
    cluster_dns                     = ["10.0.0.10"]
    system_reserved                 = { cpu = "0.1", memory = "100Mi" }
    kube_reserved                   = { cpu = "200m" }
    eviction_hard                   = { "memory.available" = "5%" }
    eviction_soft                   = { "memory.available" = "500Mi" }
    eviction_soft_grace_period      = { "memory.available" = "60s" }
    eviction_max_pod_grace_period   = 60
    image_gc_high_threshold_percent = 85
    image_gc_low_threshold_percent  = 80
    cpu_cfs_quota                   = true
    pods_per_core                   = 10
    max_pods                        = 100
  }
  limits                    = { cpu = "1k", memory = "1000Gi", "example.com/gpu" = 4 }
  ttl_seconds_after_empty   = 30
  ttl_seconds_until_expired = 2592000
  weight                    = 10
  provider_ref              = { name = "default" }
  disruption = {
    budgets                  = [{ nodes = "10%" }, { nodes = 3, schedule = "0 9 * * mon-fri", duration = "8h", reasons = ["drift"] }]
    consolidate_after        = "90s"
    termination_grace_period = "1h"
    drift                    = false
  }
  pod_binding = "Scheduler"
`

func TestProvisioner(t *testing.T) {
	name := "basic"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		CheckDestroy:             gone(name),
		Steps: []resource.TestStep{
			{
				Config:            provisionerConfig(name, everything),
				ConfigPlanChecks:  resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
				ConfigStateChecks: []statecheck.StateCheck{provisionerState("weight", knownvalue.Int64Exact(10)), provisionerState("limits", limits("1k"))},
			},
			{
				// The command has no configuration to compare with, so that it takes all there is.
				ResourceName: provisionerAddress, ImportState: true, ImportStateId: name, ImportStateVerify: true,
				ImportStateVerifyIdentifierAttribute: "name",
			},
			{
				ResourceName: provisionerAddress, ImportState: true, ImportStateKind: resource.ImportBlockWithID, ImportStateId: name,
			},
			{
				Config: provisionerConfig(name, `
  requirements = [{ key = "kubernetes.io/arch", operator = "In", values = ["arm64"] }]
  limits       = { cpu = "500" }
  provider_ref = { name = "other" }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply:             []plancheck.PlanCheck{plancheck.ExpectResourceAction(provisionerAddress, plancheck.ResourceActionUpdate)},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
				Check: func(*terraform.State) error { return onlyDeclared(t, name) },
			},
		},
	})
}

// onlyDeclared checks that the live object has what the last step declares and
// nothing of the step before.
func onlyDeclared(t *testing.T, name string) error {
	want := map[string]any{
		"requirements": []any{map[string]any{"key": "kubernetes.io/arch", "operator": "In", "values": []any{"arm64"}}},
		"limits":       map[string]any{"resources": map[string]any{"cpu": "500"}},
		"providerRef":  map[string]any{"name": "other"},
	}
	if diff := cmp.Diff(want, object(t, api.ProvisionerGVR, name).Object["spec"]); diff != "" {
		return fmt.Errorf("spec (-want +got):\n%s", diff)
	}
	return nil
}

func TestProvisionerComparesByMeaning(t *testing.T) {
	name := "meaning"
	unchanged := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: provisionerConfig(name, "limits = { cpu = \"1k\", memory = \"1Gi\" }\n disruption = { consolidate_after = \"90s\" }")},
			{
				Config:           provisionerConfig(name, "limits = { cpu = 1000, memory = \"1024Mi\" }\n disruption = { consolidate_after = \"1m30s\" }"),
				ConfigPlanChecks: unchanged,
			},
			{
				PreConfig: func() {
					apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{limits: {resources: {cpu: 1000}}, disruption: {consolidateAfter: 1m30s}}`)
				},
				Config:           provisionerConfig(name, "limits = { cpu = \"1k\", memory = \"1Gi\" }\n disruption = { consolidate_after = \"90s\" }"),
				ConfigPlanChecks: unchanged,
			},
		},
	})
}

func TestProvisionerTakesNullAndEmptyForAbsent(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: provisionerConfig("empty", `
  labels         = {}
  taints         = []
  startup_taints = null
  requirements   = [{ key = "example.com/tier", operator = "Exists", values = [] }]
  consolidation  = null
  disruption     = { budgets = [] }
  limits         = {}
  instance_types = ["m5.large", null]
  pod_overrides  = [null]`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
		}},
	})
}

func TestProvisionerShowsDefaults(t *testing.T) {
	defaults := knownvalue.ListExact([]knownvalue.Check{
		knownvalue.StringExact("karpenter.k8s.aws/instance-category in (c,m,r)"),
		knownvalue.StringExact("karpenter.k8s.aws/instance-generation>2"),
		knownvalue.StringExact("karpenter.sh/capacity-type in (spot)"),
		knownvalue.StringExact("kubernetes.io/arch in (amd64)"),
		knownvalue.StringExact("kubernetes.io/os in (linux)"),
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: provisionerConfig("defaults", `requirements = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] }]`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectKnownValue(provisionerAddress, tfjsonpath.New("effective_requirements"), defaults),
			}},
			ConfigStateChecks: []statecheck.StateCheck{provisionerState("effective_requirements", defaults)},
		}},
	})
}

func TestProvisionerNameReplaces(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: provisionerConfig("first", "")},
			{
				Config: provisionerConfig("second", ""),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(provisionerAddress, plancheck.ResourceActionDestroyBeforeCreate),
				}},
				Check: func(*terraform.State) error { return gone("first")(nil) },
			},
		},
	})
}

func TestProvisionerDisappears(t *testing.T) {
	name := "disappears"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: provisionerConfig(name, "weight = 1")},
			{
				PreConfig: func() { remove(t, api.ProvisionerGVR, name) },
				Config:    provisionerConfig(name, "weight = 1"),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(provisionerAddress, plancheck.ResourceActionCreate),
				}},
			},
		},
	})
}

func TestProvisionerDrift(t *testing.T) {
	name := "drift"
	config := provisionerConfig(name, "weight = 1\n labels = { \"example.com/team\" = \"a\" }")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: config},
			{
				// Fields that the configuration does not declare belong to others.
				PreConfig: func() {
					apply(t, "other", api.ProvisionerGVR, "Provisioner", name, `{ttlSecondsUntilExpired: 600, labels: {example.com/theirs: b}}`)
				},
				Config:           config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				PreConfig: func() { apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{weight: 7}`) },
				Config:    config,
				Check: func(*terraform.State) error {
					if got := object(t, api.ProvisionerGVR, name).Object["spec"].(map[string]any)["weight"]; got != int64(1) {
						return fmt.Errorf("weight = %v, want 1", got)
					}
					return nil
				},
			},
		},
	})
}

func TestProvisionerRemovesWhatOthersKeep(t *testing.T) {
	name := "kept"
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{weight: 7, ttlSecondsAfterEmpty: 30}`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: provisionerConfig(name, "weight = 7\n ttl_seconds_after_empty = 30") +
					fmt.Sprintf("import {\n to = %s\n id = %q\n}\n", provisionerAddress, name),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction(provisionerAddress, plancheck.ResourceActionNoop),
				}},
			},
			{
				// The plan has shown that it goes.
				Config: provisionerConfig(name, "weight = 7"),
				Check: func(*terraform.State) error {
					if got, ok := object(t, api.ProvisionerGVR, name).Object["spec"].(map[string]any)["ttlSecondsAfterEmpty"]; ok {
						return fmt.Errorf("ttlSecondsAfterEmpty = %v, want none", got)
					}
					return nil
				},
			},
		},
	})
}

func TestProvisionerThatExistsIsNotTakenOver(t *testing.T) {
	name := "theirs"
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, `{weight: 7}`)
	t.Cleanup(func() {
		if err := objects.Resource(api.ProvisionerGVR).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config:      provisionerConfig(name, "weight = 1"),
			ExpectError: regexp.MustCompile(`provisioner theirs already exists(.|\n)*import \{`),
		}},
	})
}

func provisionerState(attribute string, want knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(provisionerAddress, tfjsonpath.New(attribute), want)
}

func limits(cpu string) knownvalue.Check {
	return knownvalue.MapPartial(map[string]knownvalue.Check{"cpu": knownvalue.StringExact(cpu), "example.com/gpu": knownvalue.StringExact("4")})
}

// gone checks that the cluster has no such Provisioner.
func gone(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		_, err := objects.Resource(api.ProvisionerGVR).Get(context.Background(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("provisioner %s is still there: %w", name, err)
	}
}
