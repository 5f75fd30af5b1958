package karpenter_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

// A machine of a NodePool of v1beta1 goes back with a NodeClaim of v1beta1, which refers to
// its class by another field and has the kubelet's settings itself.
func TestClaimOfV1beta1(t *testing.T) {
	const pool = `
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata: {name: general, uid: u}
spec:
  disruption: {expireAfter: 24h}
  template:
    spec:
      nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: general}
      kubelet: {maxPods: 42}
      requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]
`
	var document map[string]any
	if err := yaml.Unmarshal([]byte(pool), &document); err != nil {
		t.Fatal(err)
	}
	claim, err := karpenter.ClaimFor(document, offer.Instance{ID: "i-1", InstanceType: "m5.large", Zone: "z", CapacityType: "spot", Profile: "p"}, nil, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	spec := claim.Object["spec"].(map[string]any)
	delete(spec, "requirements")
	want := map[string]any{
		"nodeClassRef": map[string]any{"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "general"},
		"kubelet":      map[string]any{"maxPods": float64(42)},
	}
	if diff := cmp.Diff(want, spec); diff != "" || claim.Object["apiVersion"] != "karpenter.sh/v1beta1" || claim.NodeClass != "general" {
		t.Errorf("the NodeClaim is %v (-want +got):\n%s", claim.Object, diff)
	}
	metadata := claim.Object["metadata"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"karpenter.k8s.aws/instance-profile-name": "p"}, metadata["annotations"]); diff != "" {
		t.Errorf("the annotations by which Karpenter keeps an instance profile (-want +got):\n%s", diff)
	}
}
