package assets

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard"
)

// managed returns the managed node groups.
func (a *Account) managed(ctx context.Context, cluster string) ([]offer.NodeGroup, error) {
	var names []string
	err := call.EachPage(ctx, call.ReadTimeout, eks.NewListNodegroupsPaginator(a.clusters, &eks.ListNodegroupsInput{ClusterName: &cluster}), func(page *eks.ListNodegroupsOutput) {
		names = append(names, page.Nodegroups...)
	})
	if err != nil {
		return nil, denied("managed node groups", fmt.Errorf("list the node groups of %s: %w", cluster, err))
	}
	var out []offer.NodeGroup
	var left onboard.DeniedError
	for _, name := range names {
		found, err := a.clusters.DescribeNodegroup(ctx, &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: &name})
		switch err = denied("managed node group "+name, err); {
		case left.Has(err):
		case err != nil:
			return nil, fmt.Errorf("describe node group %s of %s: %w", name, cluster, err)
		default:
			out = append(out, managedGroup(found.Nodegroup))
		}
	}
	return out, left.Err()
}

func managedGroup(n *types.Nodegroup) offer.NodeGroup {
	g := offer.NodeGroup{
		Kind: offer.ManagedNodeGroup, Name: aws.ToString(n.NodegroupName), InstanceTypes: n.InstanceTypes,
		SubnetIDs: n.Subnets, Labels: n.Labels, Role: aws.ToString(n.NodeRole), DiskGiB: aws.ToInt32(n.DiskSize),
	}
	switch n.CapacityType {
	case types.CapacityTypesSpot:
		g.CapacityType = api.CapacitySpot
	case types.CapacityTypesOnDemand:
		g.CapacityType = api.CapacityOnDemand
	}
	if s := n.ScalingConfig; s != nil {
		g.Min, g.Max, g.Desired = aws.ToInt32(s.MinSize), aws.ToInt32(s.MaxSize), aws.ToInt32(s.DesiredSize)
	}
	for _, t := range n.Taints {
		g.Taints = append(g.Taints, corev1.Taint{Key: aws.ToString(t.Key), Value: aws.ToString(t.Value), Effect: effects[t.Effect]})
	}
	g.ImageType = string(n.AmiType)
	g.AMIFamily, g.Arch = image(g.ImageType)
	if n.LaunchTemplate != nil {
		g.LaunchTemplate = aws.ToString(n.LaunchTemplate.Name)
	}
	return g
}

var effects = map[types.TaintEffect]corev1.TaintEffect{
	types.TaintEffectNoSchedule:       corev1.TaintEffectNoSchedule,
	types.TaintEffectNoExecute:        corev1.TaintEffectNoExecute,
	types.TaintEffectPreferNoSchedule: corev1.TaintEffectPreferNoSchedule,
}

// image returns the AMI family and the architecture of an EKS AMI type, such as
// AL2023_ARM_64_STANDARD. Either is empty if it is not known.
func image(amiType string) (family, arch string) {
	for _, f := range []struct{ prefix, family string }{
		{"AL2023_", api.FamilyAL2023}, {"AL2_", api.FamilyAL2}, {"BOTTLEROCKET_", api.FamilyBottlerocket},
		{"WINDOWS_CORE_2019", api.FamilyWindows2019}, {"WINDOWS_FULL_2019", api.FamilyWindows2019},
		{"WINDOWS_CORE_2022", api.FamilyWindows2022}, {"WINDOWS_FULL_2022", api.FamilyWindows2022},
	} {
		if strings.HasPrefix(amiType, f.prefix) {
			family = f.family
			break
		}
	}
	switch {
	case strings.Contains(amiType, "ARM_64"):
		arch = "arm64"
	case family != "", strings.HasPrefix(amiType, "WINDOWS_"):
		arch = "amd64"
	}
	return family, arch
}
