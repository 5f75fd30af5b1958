package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// foreseen is a provisioner whose plan looks ahead.
func foreseen(name, block, arguments string) string {
	return lookingAhead(block) + fmt.Sprintf("resource \"packhorse_provisioner\" \"test\" {\n  name = %q\n%s\n}\n", name, arguments)
}

func TestPlanFindsWhatCannotWork(t *testing.T) {
	strict := `plan_checks = "error"`
	types := func(names string) string {
		return "requirements = [{ key = \"node.kubernetes.io/instance-type\", operator = \"In\", values = [" + names + "] }]"
	}
	zones := func(names string) string {
		return "requirements = [{ key = \"topology.kubernetes.io/zone\", operator = \"In\", values = [" + names + "] }]"
	}
	tests := map[string]struct{ block, arguments, want string }{
		"the requirement that removed the last type": {
			"", `requirements = [
  { key = "kubernetes.io/arch", operator = "In", values = ["arm64"] },
  { key = "karpenter.k8s.aws/instance-cpu-manufacturer", operator = "In", values = ["intel"] },
]`,
			"requirements[1]: no instance type is left: karpenter.k8s.aws/instance-cpu-manufacturer In [intel] removed the last",
		},
		"the default that removed it": {
			"", types(`"m7g.large"`), "kubernetes.io/arch In [amd64] removed the last 1 (m7g.large), by default",
		},
		"what was probably meant": {"", types(`"m5.larg"`), `The instance type "m5.larg" does not exist. Did you mean "m5.large"?`},
		"a zone that is none":     {"", zones(`"eu-west-1a", "eu-west-1z"`), "zone eu-west-1z is not a zone of eu-west-1"},
		"a zone of another region": {
			"", zones(`"eu-west-1a", "eu-west-2a"`),
			"requirements[0]: zone eu-west-2a is in eu-west-2, not in eu-west-1",
		},
		"zones of another region only": {
			"", zones(`"eu-west-2a"`),
			"Zone eu-west-2a is in eu-west-2, not in eu-west-1. Correct the zone, or set its region by `region` in the provider block.",
		},
		"a limit":       {"", `limits = { cpu = "500m" }`, `limits["cpu"]: cpu 500m is less than the smallest machine has`},
		"one type only": {strict, types(`"m5.large"`), "only one instance type can be bought: m5.large"},
		"one zone only": {
			strict, zones(`"eu-west-1a"`), "machines can be bought in one zone only: eu-west-1a",
		},
		"spot only":            {strict, `requirements = [{ key = "karpenter.sh/capacity-type", operator = "In", values = ["spot"] }]`, "only spot capacity can be bought"},
		"few pods":             {strict, types(`"t3.nano", "t3.large"`), "1 of 2 instance types take fewer than 8 pods: t3.nano"},
		"a missing profile":    {strict, `provider_ref = { name = "nowhere" }`, `provider_ref.name: node profile "nowhere" does not exist`},
		"a profile of no zone": {strict, `node_profile = { subnet_selector = { Name = "nowhere" } }`, "nothing can be bought: no subnet matches"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resource.Test(t, resource.TestCase{
				ProtoV6ProviderFactories: factories(),
				Steps:                    []resource.TestStep{{Config: foreseen("broken", tt.block, tt.arguments), PlanOnly: true, ExpectError: words(tt.want)}},
			})
		})
	}
}

func TestPlanPreview(t *testing.T) {
	at := func(names ...string) tfjsonpath.Path {
		path := tfjsonpath.New("plan_preview")
		for _, name := range names {
			path = path.AtMapKey(name)
		}
		return path
	}
	known := func(path tfjsonpath.Path, check knownvalue.Check) plancheck.PlanCheck {
		return plancheck.ExpectKnownValue(provisionerAddress, path, check)
	}
	types := func(names string) string {
		return "requirements = [{ key = \"node.kubernetes.io/instance-type\", operator = \"In\", values = [" + names + "] }]"
	}
	fromFile := fmt.Sprintf("catalogue_file = %q\n region = %q\n", catalogueFile(t), box.Region)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: foreseen("previewed", fromFile, types(`"m5.large", "m5.xlarge"`)),
				ConfigPlanChecks: resource.ConfigPlanChecks{
					PreApply: []plancheck.PlanCheck{
						known(at("matching_types"), knownvalue.Int64Exact(2)),
						known(at("cheapest", "instance_type"), knownvalue.StringExact("m5.large")),
						known(at("dearest", "instance_type"), knownvalue.StringExact("m5.xlarge")),
						known(at("zones"), knownvalue.ListSizeExact(3)),
						known(at("nodes_to_replace"), knownvalue.Int64Exact(0)),
						known(at("catalogue"), knownvalue.StringExact("file")),
					},
					PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
				},
			},
			{
				// Nothing that is declared changes, so that nothing is looked at.
				Config:           foreseen("previewed", `plan_checks = "warn"`, types(`"m5.large", "m5.xlarge"`)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				// Without checks, the result of the last one stays.
				Config:           foreseen("previewed", `plan_checks = "off"`, types(`"m5.large", "m5.xlarge"`)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			},
			{
				// Nodes may come until the apply.
				Config: foreseen("previewed", fromFile, types(`"m5.large"`)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					known(at("matching_types"), knownvalue.Int64Exact(1)),
					plancheck.ExpectUnknownValue(provisionerAddress, at("nodes_to_replace")),
				}},
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(provisionerAddress, at("nodes_to_replace"), knownvalue.Int64Exact(0))},
			},
			{
				// AWS may change until the apply, and so may the node profile.
				Config:           foreseen("previewed", "", types(`"m5.large", "m5.xlarge", "m5.2xlarge"`)),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(provisionerAddress, at())}},
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(provisionerAddress, at("matching_types"), knownvalue.Int64Exact(3)),
					statecheck.ExpectKnownValue(provisionerAddress, at("catalogue"), knownvalue.StringExact("EC2")),
				},
			},
			{
				PreConfig: func() {
					apply(t, "kubectl", api.NodeTemplateGVR, api.NodeTemplateKind, "previewed", `{subnetSelector: {a: b}, securityGroupSelector: {a: b}}`)
				},
				Config:            foreseen("previewed", fromFile, "provider_ref = { name = \"previewed\" }\n"+types(`"m5.large"`)),
				ConfigPlanChecks:  resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectUnknownValue(provisionerAddress, at())}},
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(provisionerAddress, at("matching_types"), knownvalue.Int64Exact(1))},
			},
		},
	})
	remove(t, api.NodeTemplateGVR, "previewed")
}

// What AWS and the cluster say may change between a plan and its apply. The plan is carried out
// all the same, and the state has what the apply has found.
func TestApplyAfterAWSHasChanged(t *testing.T) {
	const name = "overtaken"
	tags := []ec2types.Tag{{Key: aws.String(name), Value: aws.String("yes")}}
	found, err := machines.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{
		Filters: []ec2types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{box.ClusterName}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	zones := map[string]bool{}
	tag := func(subnet ec2types.Subnet) {
		t.Helper()
		zones[*subnet.AvailabilityZone] = true
		if _, err := machines.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*subnet.SubnetId}, Tags: tags}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := machines.DeleteTags(context.Background(), &ec2.DeleteTagsInput{Resources: []string{*subnet.SubnetId}, Tags: tags}); err != nil {
				t.Error(err)
			}
		})
	}
	terraform := newCLI(t, nil)
	declare := func(team string) {
		t.Helper()
		terraform.write(t, map[string]string{"main.tf": watchful("") + fmt.Sprintf(`
resource "packhorse_provisioner" "test" {
  name         = %q
  labels       = { team = %q }
  node_profile = { subnet_selector = { %[1]s = "yes" } }
}
output "preview" {
  value = jsonencode(packhorse_provisioner.test.plan_preview)
}
`, name, team)})
	}
	tag(found.Subnets[0])
	declare("a")
	says(t, terraform.run(t, "plan", "-out=plan.bin"), "matching instance types in "+*found.Subnets[0].AvailabilityZone+", from", "+ plan_preview = (known after apply)")
	for _, subnet := range found.Subnets[1:] {
		tag(subnet)
	}
	terraform.run(t, "apply", "plan.bin")
	asJSON, err := json.Marshal(slices.Sorted(maps.Keys(zones)))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, "the preview", terraform.run(t, "output", "-raw", "preview"), `"zones":`+string(asJSON))

	declare("b")
	terraform.run(t, "plan", "-out=plan.bin")
	addFittingNode(t, name)
	terraform.run(t, "apply", "plan.bin")
	wantText(t, "the preview", terraform.run(t, "output", "-raw", "preview"), `"nodes_to_replace":1`)
	removeNode(t, name)
	terraform.run(t, "destroy", "-auto-approve")
}

// catalogueFile writes the built-in catalogue into a file.
func catalogueFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "catalogue.csv")
	if err := os.WriteFile(file, offer.EmbeddedCSV(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlanFromAFileWithoutACluster(t *testing.T) {
	block := fmt.Sprintf(`
provider "packhorse" {
  kubernetes     = { host = "http://127.0.0.1:1" }
  region         = "us-east-1"
  catalogue_file = %q
}
resource "packhorse_provisioner" "test" {
  name         = "offline"
  requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.large", "m5.xlarge"] }]
}
`, catalogueFile(t))
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: block, PlanOnly: true, ExpectNonEmptyPlan: true,
			ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{plancheck.ExpectKnownValue(
				provisionerAddress, tfjsonpath.New("plan_preview").AtMapKey("catalogue"), knownvalue.StringExact("file"))}},
		}},
	})
}

// The price of Windows is part of what its machines cost: $0.046 per vCPU and hour.
func TestPlanPreviewHasThePriceOfWindows(t *testing.T) {
	config := foreseen("windows", fmt.Sprintf("catalogue_file = %q\n region = %q\n", catalogueFile(t), box.Region), `
  requirements = [
    { key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.large", "m5.xlarge"] },
    { key = "kubernetes.io/os", operator = "In", values = ["windows"] },
  ]
  node_profile = { ami_family = "Windows2022" }`)
	price := func(which string, want float64) plancheck.PlanCheck {
		return plancheck.ExpectKnownValue(provisionerAddress, tfjsonpath.New("plan_preview").AtMapKey(which).AtMapKey("hourly_price"), knownvalue.Float64Exact(want))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: config, PlanOnly: true, ExpectNonEmptyPlan: true,
			ConfigPlanChecks: resource.ConfigPlanChecks{PostApplyPreRefresh: []plancheck.PlanCheck{
				price("cheapest", 0.107+2*0.046), price("dearest", 0.214+4*0.046),
			}},
		}},
	})
}

func TestPlanTellsConflictsOfFieldManagers(t *testing.T) {
	const name = "contested"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: foreseen(name, "", "pod_binding = \"Immediate\"")},
			{
				PreConfig:   func() { apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", name, "{weight: 5}") },
				Config:      foreseen(name, "", "pod_binding = \"Immediate\"\n weight = 2"),
				PlanOnly:    true,
				ExpectError: words(`.spec.weight belongs to "kubectl"`),
			},
		},
	})
}

// A profile that nobody has and nobody is about to make is told of; one that the same
// plan makes is not.
func TestPlanTellsOfAMissingInstanceProfile(t *testing.T) {
	block := lookingAhead(`plan_checks = "error"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: block + "resource \"packhorse_node_profile\" \"test\" {\n name = \"missing\"\n instance_profile = \"missing\"\n}\n", PlanOnly: true,
				ExpectError: words(`instance_profile: the account has no instance profile "missing"`),
			},
			{
				Config: block + "resource \"packhorse_node_role\" \"test\" {\n name = \"missing\"\n}\n" +
					"resource \"packhorse_node_profile\" \"test\" {\n name = \"missing\"\n instance_profile = packhorse_node_role.test.instance_profile\n}\n",
			},
		},
	})
}

func TestPlanTellsOverlaps(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "twin", `{weight: 77}`)
	defer remove(t, api.ProvisionerGVR, "twin")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: foreseen("other", `plan_checks = "error"`, "weight = 77"), PlanOnly: true,
				ExpectError: words("weight: provisioner twin of the same weight 77 serves the same pods"),
			},
			{
				Config: foreseen("other", `plan_checks = "error"`, "weight = 77\n taints = [{ key = \"dedicated\", value = \"a\", effect = \"NoSchedule\" }]"),
			},
		},
	})
}

func TestPlanCountsNodesToReplace(t *testing.T) {
	const name = "replaces"
	preview := tfjsonpath.New("plan_preview")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: foreseen(name, "", `labels = { team = "a" }`)},
			{
				PreConfig:   func() { addFittingNode(t, name) },
				Config:      foreseen(name, `plan_checks = "error"`, "labels = { team = \"a\" }\n ttl_seconds_until_expired = 0"),
				PlanOnly:    true,
				ExpectError: words("ttl_seconds_until_expired: nodes that will be replaced: 1, 1 at once"),
			},
			{
				Config:      foreseen(name, `plan_checks = "error"`, `labels = { team = "b" }`),
				PlanOnly:    true,
				ExpectError: words("nodes that will be replaced: 1, 1 at once"),
			},
			{
				Config: foreseen(name, "", `labels = { team = "b" }`),
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectUnknownValue(provisionerAddress, preview),
				}},
				ConfigStateChecks: []statecheck.StateCheck{statecheck.ExpectKnownValue(provisionerAddress, preview.AtMapKey("nodes_to_replace"), knownvalue.Int64Exact(1))},
			},
			{
				PreConfig: func() { removeNode(t, name) },
				Config:    foreseen(name, "", `labels = { team = "b" }`),
			},
		},
	})
}

// A node counts for the provisioner whose change replaces it, and for no other that
// changes in the same plan.
func TestPlanCountsANodeOnce(t *testing.T) {
	config := func(team string) string {
		text := lookingAhead("")
		for _, name := range []string{"has-nodes", "has-none"} {
			text += fmt.Sprintf("resource \"packhorse_provisioner\" %q {\n  name = %q\n  labels = { team = %q }\n}\n", name, name, team)
		}
		return text
	}
	replaced := func(name string, nodes int64) statecheck.StateCheck {
		return statecheck.ExpectKnownValue("packhorse_provisioner."+name, tfjsonpath.New("plan_preview").AtMapKey("nodes_to_replace"), knownvalue.Int64Exact(nodes))
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{Config: config("a")},
			{
				PreConfig:         func() { addFittingNode(t, "has-nodes") },
				Config:            config("b"),
				ConfigStateChecks: []statecheck.StateCheck{replaced("has-nodes", 1), replaced("has-none", 0)},
			},
			{PreConfig: func() { removeNode(t, "has-nodes") }, Config: config("b")},
		},
	})
}

// addFittingNode adds a node that fits the live provisioner of the name.
func addFittingNode(t *testing.T, name string) {
	t.Helper()
	raw, err := object(t, api.ProvisionerGVR, name).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := api.DecodeProvisioner(raw)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Annotations: map[string]string{api.AnnotationProvisionerHash: p.Defaulted().Hash()},
		Labels: map[string]string{
			api.LabelProvisioner: name, api.LabelInitialized: "true", "team": "a",
			api.LabelOS: "linux", api.LabelArch: "amd64", api.LabelCapacityType: api.CapacityOnDemand,
			api.LabelInstanceCategory: "m", api.LabelInstanceGeneration: "5",
		},
	}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if _, err := kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func removeNode(t *testing.T, name string) {
	t.Helper()
	if err := kube.CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// plannedWarnings plans a provisioner through the protocol and returns the summaries of the
// warnings, which the CLI shows and tests cannot see there.
func plannedWarnings(t *testing.T, name string, planned func(tftypes.Object) tftypes.Value) (out []string) {
	t.Helper()
	for _, d := range plannedDiagnostics(t, "packhorse_provisioner", func(typ tftypes.Object) tftypes.Value { return blank(typ, name) }, planned) {
		out = append(out, d.Summary)
	}
	return out
}

// plannedDiagnostics plans through the protocol and returns the warnings.
func plannedDiagnostics(t *testing.T, typeName string, prior, planned func(tftypes.Object) tftypes.Value) []*tfprotov6.Diagnostic {
	t.Helper()
	server := configured(t)
	schemas := schemasOf(t, server)
	typ := schemas.ResourceSchemas[typeName].ValueType().(tftypes.Object)
	dynamic := func(v tftypes.Value) *tfprotov6.DynamicValue {
		out, err := tfprotov6.NewDynamicValue(typ, v)
		if err != nil {
			t.Fatal(err)
		}
		return &out
	}
	resp, err := server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: typeName, PriorState: dynamic(prior(typ)), ProposedNewState: dynamic(planned(typ)), Config: dynamic(planned(typ)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range resp.Diagnostics {
		if d.Severity != tfprotov6.DiagnosticSeverityWarning {
			t.Errorf("%s: %s", d.Summary, d.Detail)
		}
	}
	return resp.Diagnostics
}

// blank is a provisioner of which nothing but its name is said.
func blank(typ tftypes.Object, name string) tftypes.Value {
	values := map[string]tftypes.Value{}
	for attribute, t := range typ.AttributeTypes {
		values[attribute] = tftypes.NewValue(t, nil)
	}
	values["name"] = tftypes.NewValue(tftypes.String, name)
	return tftypes.NewValue(typ, values)
}

func TestPlanTellsWhatGoesWithAProvisioner(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "leaving", `{labels: {team: a}}`)
	defer remove(t, api.ProvisionerGVR, "leaving")
	addFittingNode(t, "leaving")
	defer removeNode(t, "leaving")
	got := plannedWarnings(t, "leaving", func(typ tftypes.Object) tftypes.Value { return tftypes.NewValue(typ, nil) })
	want := []string{"provisioner leaving: destroying it drains its nodes (1) with their pods (0)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// Terraform asks for no plan of the deletion if a new name forces a replacement.
func TestPlanTellsWhatGoesWithARenamedProvisioner(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "renamed", `{labels: {team: a}}`)
	defer remove(t, api.ProvisionerGVR, "renamed")
	addFittingNode(t, "renamed")
	defer removeNode(t, "renamed")
	called := func(name string) func(tftypes.Object) tftypes.Value {
		return func(typ tftypes.Object) tftypes.Value { return blank(typ, name) }
	}
	got := plannedDiagnostics(t, "packhorse_provisioner", called("renamed"), called("renamed-2"))
	const want = "provisioner renamed: destroying it drains its nodes (1) with their pods (0)"
	if len(got) != 1 || got[0].Summary != want || !strings.Contains(got[0].Detail, "`create_before_destroy = true`") {
		t.Errorf("warnings = %v, want %q, with the way to avoid a gap", got, want)
	}
}

func TestPlanTellsWhatItDidNotCheck(t *testing.T) {
	got := plannedWarnings(t, "unsure", func(typ tftypes.Object) tftypes.Value {
		var values map[string]tftypes.Value
		if err := blank(typ, "unsure").As(&values); err != nil {
			t.Fatal(err)
		}
		values["weight"] = tftypes.NewValue(tftypes.Number, tftypes.UnknownValue)
		return tftypes.NewValue(typ, values)
	})
	if diff := cmp.Diff([]string{"provisioner unsure was not checked in full"}, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// `terraform plan` validates first, and shows what that warns of.
func TestPlanTellsWhatValidationWarnsOf(t *testing.T) {
	for typeName, c := range map[string]struct{ config, want string }{
		"packhorse_provisioner":  {`ttl_seconds_until_expired: 0`, "replaces every node as soon as it is up"},
		"packhorse_node_profile": {`{launch_template: mine, detailed_monitoring: true}`, "detailed_monitoring: has no effect beside launch_template"},
	} {
		diags := validator(t, typeName)(t, c.config)
		if !slices.ContainsFunc(diags, func(d *tfprotov6.Diagnostic) bool {
			return d.Severity == tfprotov6.DiagnosticSeverityWarning && strings.Contains(d.Summary+d.Detail, c.want)
		}) {
			t.Errorf("%s: diagnostics %v, want a warning that says %q", typeName, diags, c.want)
		}
	}
}
