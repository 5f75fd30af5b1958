package peercrds

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

const poolOfTheWayBack = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    metadata: {labels: {team: a}}
    spec:
      expireAfter: 720h
      terminationGracePeriod: 1h
      taints: [{key: team, value: a, effect: NoSchedule}]
      startupTaints: [{key: starting, effect: NoSchedule}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: general}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gte, values: ["5"]}
`

// TestNodeClaims checks that the API server, with the definition that Karpenter publishes,
// takes the NodeClaims that are made on the way back as they are, and keeps all of them:
// a field that it dropped would be one that Karpenter does not see.
func TestNodeClaims(t *testing.T) {
	client := start(t)
	pool := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(poolOfTheWayBack), &pool.Object); err != nil {
		t.Fatal(err)
	}
	pool, err := client.Resource(kinds.NodePools.WithVersion("v1")).Create(t.Context(), pool, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	instance := offer.Instance{
		ID: "i-0123456789abcdef0", ProviderID: "aws:///eu-west-1a/i-0123456789abcdef0", ImageID: "ami-0123456789abcdef0",
		InstanceType: "m5.large", Zone: "eu-west-1a", CapacityType: api.CapacityOnDemand, Provisioner: "general",
	}
	node := &cluster.Node{
		Name: "ip-10-0-0-1.eu-west-1.compute.internal", Initialized: true,
		Labels:   map[string]string{api.LabelArch: "amd64", "team": "a", "other": "x", api.LabelInstanceGeneration: "5"},
		Capacity: amount.List{amount.CPU: 2000, amount.Memory: 8 << 30, amount.Pods: 29}, Allocatable: amount.List{amount.CPU: 1930, amount.Memory: 7 << 30, amount.Pods: 29},
	}
	for name, n := range map[string]*cluster.Node{"with a node": node, "without a node": nil} {
		t.Run(name, func(t *testing.T) {
			claim, err := karpenter.ClaimFor(pool.Object, instance, n, time.Unix(1_800_000_000, 0))
			if err != nil {
				t.Fatal(err)
			}
			resource := client.Resource(kinds.NodeClaims.WithVersion("v1"))
			there, err := resource.Create(t.Context(), &unstructured.Unstructured{Object: claim.Object}, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				patch := []byte(`{"metadata":{"finalizers":null}}`)
				if _, err := resource.Patch(t.Context(), there.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					t.Error(err)
				}
				if err := resource.Delete(t.Context(), there.GetName(), metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}()
			there.Object["status"] = claim.Status
			if there, err = resource.UpdateStatus(t.Context(), there, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
				t.Fatal(err)
			}
			provider, _, _ := unstructured.NestedString(there.Object, "status", "providerID")
			image, _, _ := unstructured.NestedString(there.Object, "status", "imageID")
			conditions, _, _ := unstructured.NestedSlice(there.Object, "status", "conditions")
			expires, _, _ := unstructured.NestedString(there.Object, "spec", "expireAfter")
			want := map[bool]int{true: 4, false: 1}[n != nil]
			if provider != instance.ProviderID || image != instance.ImageID || len(conditions) != want || expires != "720h" {
				t.Errorf("the NodeClaim is %v", there.Object)
			}
			if _, kept, _ := unstructured.NestedSlice(there.Object, "spec", "startupTaints"); kept {
				t.Error("the startup taints would be put on the node once more")
			}
		})
	}
}
