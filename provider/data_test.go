package provider_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// workload is a Deployment of three pods of two cores each.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: main, resources: {requests: {cpu: 2, memory: 4Gi}}}]
`

func at(names ...string) tfjsonpath.Path {
	path := tfjsonpath.New(names[0])
	for _, name := range names[1:] {
		path = path.AtMapKey(name)
	}
	return path
}

func TestSimulationOfADraft(t *testing.T) {
	address := "data.packhorse_simulation.test"
	known := func(path tfjsonpath.Path, check knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(address, path, check)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: byName() + fmt.Sprintf(`
resource "packhorse_provisioner" "test" {
  name         = "drafted"
  requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.large", "m5.2xlarge"] }]
  limits       = { cpu = 8 }
}

data "packhorse_simulation" "test" {
  manifests = [<<YAML
%s
YAML
  ]
  provisioners = [packhorse_provisioner.test, {
    name          = "spare"
    weight        = 1
    limits        = { cpu = "0" }
    labels        = { example_gpu = true }
    consolidation = { enabled = "true" }
  }]
}
`, workload),
			ConfigStateChecks: []statecheck.StateCheck{
				known(at("machines"), knownvalue.ListSizeExact(1)),
				known(tfjsonpath.New("machines").AtSliceIndex(0).AtMapKey("instance_type"), knownvalue.StringExact("m5.2xlarge")),
				known(tfjsonpath.New("machines").AtSliceIndex(0).AtMapKey("provisioner"), knownvalue.StringExact("drafted")),
				known(at("unplaced"), knownvalue.ListSizeExact(0)),
				known(at("catalogue", "source"), knownvalue.StringExact("EC2")),
				known(at("summary"), knownvalue.StringRegexp(regexp.MustCompile("m5.2xlarge"))),
			},
		}},
	})
}

func TestSimulationSaysWhyPodsHaveNoPlace(t *testing.T) {
	config := func(arguments string) string {
		return byName() + fmt.Sprintf("data \"packhorse_simulation\" \"test\" {\n manifests = [<<YAML\n%s\nYAML\n ]\n%s\n}\n", workload, arguments)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: config(`provisioners = [{ name = "small", requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.large"] }] }]`),
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue("data.packhorse_simulation.test", at("unplaced"), knownvalue.ListSizeExact(3)),
					statecheck.ExpectKnownValue("data.packhorse_simulation.test", tfjsonpath.New("unplaced").AtSliceIndex(0).AtMapKey("reason"),
						knownvalue.StringRegexp(regexp.MustCompile("small"))),
				},
			},
			{Config: config(`provisioners = [{ weight = 1 }]`), ExpectError: words("provisioners[0]: the draft has no name")},
			{Config: config(`provisioners = "small"`), ExpectError: words("provisioners: must be a list, not a string")},
			{Config: config(`provisioners = [{ name = "a", weight = 101 }]`), ExpectError: words("provisioners[0]: weight: Invalid value: 101")},
		},
	})
}

// The options of the cluster's agent say how many pods a node holds.
func TestSimulationWithTheOptionsOfTheAgent(t *testing.T) {
	const name, many = "options-of-nodes", `apiVersion: apps/v1
kind: Deployment
metadata: {name: many}
spec: {replicas: 60, template: {spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 1m}}}]}}}`
	labels := map[string]string{"app.kubernetes.io/name": "packhorse-agent"}
	agent := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "agent", Args: []string{"run", "--prefix-delegation=true"}}}},
		}},
	}
	if _, err := kube.AppsV1().Deployments("default").Create(t.Context(), agent, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.AppsV1().Deployments("default").Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: byName() + fmt.Sprintf("data \"packhorse_simulation\" \"test\" {\n manifests = [<<YAML\n%s\nYAML\n ]\n"+
				` provisioners = [{ name = "a", requirements = [{ key = "node.kubernetes.io/instance-type", operator = "In", values = ["m5.large"] }] }]`+"\n}\n", many),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("data.packhorse_simulation.test", at("warnings"), knownvalue.ListSizeExact(0)),
				statecheck.ExpectKnownValue("data.packhorse_simulation.test", tfjsonpath.New("machines").AtSliceIndex(0).AtMapKey("pods"), knownvalue.ListSizeExact(60)),
			},
		}},
	})
}

func TestInstanceTypes(t *testing.T) {
	address := "data.packhorse_instance_types.test"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{
			{
				Config: byName() + `
data "packhorse_instance_types" "test" {
  requirements = [
    { key = "karpenter.k8s.aws/instance-family", operator = "In", values = ["m5", null] },
    { key = "karpenter.k8s.aws/instance-cpu", operator = "Lt", values = ["8"] },
    { key = "karpenter.sh/capacity-type", operator = "In", values = ["on-demand"] },
  ]
}
`,
				ConfigStateChecks: []statecheck.StateCheck{
					statecheck.ExpectKnownValue(address, at("names"), knownvalue.ListExact([]knownvalue.Check{
						knownvalue.StringExact("m5.large"), knownvalue.StringExact("m5.xlarge"),
					})),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("instance_types").AtSliceIndex(0).AtMapKey("offerings"), knownvalue.ListSizeExact(3)),
					statecheck.ExpectKnownValue(address, tfjsonpath.New("instance_types").AtSliceIndex(0).AtMapKey("capacity").AtMapKey("cpu"), knownvalue.StringExact("2")),
				},
			},
			{
				Config:      byName() + "data \"packhorse_instance_types\" \"test\" {\n requirements = [{ key = \"karpenter.sh/capacity-type\", operator = \"In\", values = [\"rented\"] }]\n}\n",
				ExpectError: words(`Unsupported value: "rented"`),
			},
		},
	})
}

func TestIAMPoliciesNeedNoAccess(t *testing.T) {
	address := "data.packhorse_iam_policies.test"
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: `
data "packhorse_iam_policies" "test" {
  cluster_name = "prod"
  partition    = "aws"
  region       = "eu-west-1"
  account_id   = "123456789012"
  node_roles   = ["arn:aws:iam::123456789012:role/nodes/node"]
  node_pools   = true
}
`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(address, at("policies", "packhorse-node-role"), knownvalue.StringRegexp(regexp.MustCompile("arn:aws:iam::123456789012:role/nodes/node"))),
				statecheck.ExpectKnownValue(address, at("policies", "packhorse-takeover"), knownvalue.StringRegexp(regexp.MustCompile("TakeOverMachines"))),
				statecheck.ExpectKnownValue(address, at("policies"), knownvalue.MapSizeExact(5)),
				statecheck.ExpectKnownValue(address, at("sizes"), knownvalue.MapSizeExact(5)),
			},
		}},
	})
}

func TestNodes(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "listed", `{labels: {team: a}}`)
	defer remove(t, api.ProvisionerGVR, "listed")
	addFittingNode(t, "listed")
	defer removeNode(t, "listed")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: byName() + "data \"packhorse_nodes\" \"test\" {\n provisioner_name = \"listed\"\n}\n",
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("data.packhorse_nodes.test", tfjsonpath.New("nodes").AtSliceIndex(0), knownvalue.ObjectPartial(map[string]knownvalue.Check{
					"name": knownvalue.StringExact("listed"), "initialized": knownvalue.Bool(true), "pods": knownvalue.Int64Exact(0),
				})),
			},
		}},
	})
}

func TestDiscovery(t *testing.T) {
	apply(t, "kubectl", api.ProvisionerGVR, "Provisioner", "discovered", `{weight: 3}`)
	defer remove(t, api.ProvisionerGVR, "discovered")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: byName() + `
data "packhorse_discovery" "test" {}

output "found" {
  value = [for i in data.packhorse_discovery.test.items : i.configuration if i.name == "discovered"]
}

output "importable" {
  value = contains(data.packhorse_discovery.test.import_ids.packhorse_provisioner, "discovered")
}
`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownOutputValue("found", knownvalue.ListExact([]knownvalue.Check{
					knownvalue.StringExact("resource \"packhorse_provisioner\" \"discovered\" {\n  name   = \"discovered\"\n  weight = 3\n}\n"),
				})),
				statecheck.ExpectKnownOutputValue("importable", knownvalue.Bool(true)),
			},
		}},
	})
}
