package peer

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/yaml"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter"
)

const poolOfClaims = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    metadata: {labels: {purpose: all}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: general}
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}
        - {key: kubernetes.io/os, operator: In, values: [linux]}
        - {key: failure-domain.beta.kubernetes.io/region, operator: Exists}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
        - {key: karpenter.k8s.aws/capacity-reservation-id, operator: In, values: [cr-1, cr-2]}
        - {key: karpenter.k8s.aws/capacity-reservation-type, operator: In, values: [default]}
        - {key: example.com/team, operator: In, values: [a, b]}
        - {key: example.com/tier, operator: Exists}
        - {key: example.com/other, operator: NotIn, values: [x]}
`

// TestKarpenterFindsNoDrift compares the labels of NodeClaims that are made on the way back with the
// requirements of their NodePool as Karpenter does to find drift.
func TestKarpenterFindsNoDrift(t *testing.T) {
	document, pool := map[string]any{}, &v1.NodePool{}
	if err := yaml.Unmarshal([]byte(poolOfClaims), &document); err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(document, pool); err != nil {
		t.Fatal(err)
	}
	instance := offer.Instance{
		ID: "i-1", InstanceType: "m5.large", Zone: "eu-west-1a", CapacityType: api.CapacityReserved, Reservation: "cr-1",
		Tags: map[string]string{
			api.TagLabelPrefix + "example.com/team": "b", api.TagLabelPrefix + "example.com/tier": "web",
			api.TagLabelPrefix + "example.com/other": "x", api.TagLabelPrefix + "stray": "x",
		},
	}
	node := &cluster.Node{Labels: map[string]string{
		api.LabelArch: "amd64", api.LabelOS: "linux", api.LabelRegion: "eu-west-1", api.LabelInstanceGeneration: "5", "purpose": "all",
		"example.com/team": "b", "example.com/tier": "web", "stray": "x",
	}}
	for name, n := range map[string]*cluster.Node{"with a node": node, "without a node": nil} {
		t.Run(name, func(t *testing.T) {
			made, err := karpenter.ClaimFor(document, instance, n, time.Unix(1_800_000_000, 0))
			if err != nil {
				t.Fatal(err)
			}
			claim := &v1.NodeClaim{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(made.Object, claim); err != nil {
				t.Fatal(err)
			}
			wanted := scheduling.NewNodeSelectorRequirementsWithMinValues(pool.Spec.Template.Spec.Requirements...)
			if err := scheduling.NewLabelRequirements(claim.Labels).Compatible(wanted); err != nil {
				t.Errorf("Karpenter would replace the machine, whose labels are %v: %v", claim.Labels, err)
			}
			for _, key := range []string{"stray", "example.com/other"} {
				if _, there := claim.Labels[key]; there {
					t.Errorf("the NodeClaim has the label %s, which its node would get", key)
				}
			}
		})
	}
}
