package provider_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// defineNodePools installs the kinds of Karpenter for a test.
func defineNodePools(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../internal/e2e/testdata/nodepool-crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		crd := &unstructured.Unstructured{}
		if err := decoder.Decode(&crd.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := objects.Resource(definitions).Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := objects.Resource(definitions).Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	for _, kind := range []schema.GroupResource{kinds.NodePools, kinds.NodeClasses} {
		err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, err := objects.Resource(kind.WithVersion("v1")).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A NodePool of the cluster counts: a simulation buys for it, discovery finds it, and the
// plan of a provisioner that serves the same pods says so.
func TestNodePoolsOfTheCluster(t *testing.T) {
	defineNodePools(t)
	class := `{instanceProfile: nodes, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{tags: {karpenter.sh/discovery: ` + box.ClusterName +
		`}}], securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: ` + box.ClusterName + `}}]}`
	apply(t, "kubectl", kinds.NodeClasses.WithVersion("v1"), kinds.NodeClassKind, "live", class)
	apply(t, "kubectl", kinds.NodePools.WithVersion("v1"), kinds.NodePoolKind, "live", `{template: {spec: {
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: live},
  requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [m5.2xlarge]}]}}}`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps: []resource.TestStep{{
			Config: byName() + "data \"packhorse_simulation\" \"test\" {\n live = true\n manifests = [<<YAML\n" + workload + "\nYAML\n ]\n}\n" + `
data "packhorse_discovery" "test" {}

output "found" {
  value = sort([for i in data.packhorse_discovery.test.items : i.kind if i.name == "live"])
}
`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("data.packhorse_simulation.test", tfjsonpath.New("machines").AtSliceIndex(0).AtMapKey("provisioner"), knownvalue.StringExact("live")),
				statecheck.ExpectKnownValue("data.packhorse_simulation.test", tfjsonpath.New("machines").AtSliceIndex(0).AtMapKey("instance_type"), knownvalue.StringExact("m5.2xlarge")),
				statecheck.ExpectKnownOutputValue("found", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("EC2NodeClass"), knownvalue.StringExact("NodePool")})),
			},
		}},
	})
	got := plannedWarnings(t, "beside", func(typ tftypes.Object) tftypes.Value {
		var values map[string]tftypes.Value
		if err := blank(typ, "beside").As(&values); err != nil {
			t.Fatal(err)
		}
		values["weight"] = tftypes.NewValue(tftypes.Number, 5)
		return tftypes.NewValue(typ, values)
	})
	if want := "NodePool live serves the same pods"; !slices.ContainsFunc(got, func(w string) bool { return w == "provisioner beside: "+want }) {
		t.Errorf("warnings %q, want one that says %s", got, want)
	}
}
