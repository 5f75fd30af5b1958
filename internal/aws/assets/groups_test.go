package assets_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/assets"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/cloudtest"
)

func TestFind(t *testing.T) {
	account := cloudtest.Start(t)
	account.AddNodeGroup(cloud.NodeGroup{
		Name: "general", InstanceTypes: []string{"m5.large", "m5.xlarge"}, AMIType: "AL2023_ARM_64_STANDARD", Spot: true, Min: 1, Max: 5,
		Labels: map[string]string{"team": "a"}, Taints: map[string]string{"dedicated": "batch"}, NodeRole: "arn:aws:iam::1:role/node",
	})
	account.AddScalingGroup(cloud.ScalingGroup{
		Name: "workers", InstanceTypes: []string{"c5.large"}, Min: 0, Max: 3, Zones: []string{"eu-west-1a"},
		Tags: map[string]string{
			"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/prod": "owned",
			"k8s.io/cluster-autoscaler/node-template/label/team": "b", "k8s.io/cluster-autoscaler/node-template/taint/gpu": "yes:NoExecute",
		},
	})
	account.AddScalingGroup(cloud.ScalingGroup{Name: "elsewhere", Tags: map[string]string{"k8s.io/cluster-autoscaler/enabled": "true"}})
	got, err := assets.New(account.Config).Groups(t.Context(), "prod")
	if err != nil {
		t.Fatal(err)
	}
	want := []offer.NodeGroup{
		{
			Kind: offer.AutoscalerGroup, Name: "workers", InstanceTypes: []string{"c5.large"}, CapacityType: "on-demand", Max: 3,
			Zones: []string{"eu-west-1a"}, Labels: map[string]string{"team": "b"},
			Taints: []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}},
		},
		{
			Kind: offer.ManagedNodeGroup, Name: "general", InstanceTypes: []string{"m5.large", "m5.xlarge"}, CapacityType: "spot", Min: 1, Max: 5, Desired: 1,
			Labels: map[string]string{"team": "a"}, Taints: []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}},
			AMIFamily: "AL2023", ImageType: "AL2023_ARM_64_STANDARD", Arch: "arm64", DiskGiB: 20, Role: "arn:aws:iam::1:role/node",
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(offer.NodeGroup{}, "SubnetIDs")); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if len(got[1].SubnetIDs) == 0 {
		t.Error("the managed node group has no subnets")
	}
}
