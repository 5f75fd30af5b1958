package assets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/aws/call"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// Tags by which the Cluster Autoscaler finds its groups and learns the labels and taints of
// their nodes
// (https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md).
const (
	tagEnabled  = "k8s.io/cluster-autoscaler/enabled"
	tagCluster  = "k8s.io/cluster-autoscaler/"
	tagTemplate = "k8s.io/cluster-autoscaler/node-template/"
	tagLabel    = tagTemplate + "label/"
	tagTaint    = tagTemplate + "taint/"
)

// tagManaged is on the groups that EKS keeps for managed node groups.
const tagManaged = "eks:nodegroup-name"

// describeGroups calls DescribeAutoScalingGroups. It is a function and not the SDK's client
// for the reason that client.EC2 gives.
type describeGroups func(context.Context, *autoscaling.DescribeAutoScalingGroupsInput, ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error)

// DescribeAutoScalingGroups is the method that the SDK's paginator requires.
func (d describeGroups) DescribeAutoScalingGroups(ctx context.Context, in *autoscaling.DescribeAutoScalingGroupsInput, o ...func(*autoscaling.Options)) (*autoscaling.DescribeAutoScalingGroupsOutput, error) {
	return d(ctx, in, o...)
}

// scaled returns the groups that the Cluster Autoscaler may scale for a cluster, except
// those that EKS keeps for managed node groups.
func (a *Account) scaled(ctx context.Context, cluster string) ([]offer.NodeGroup, error) {
	var out []offer.NodeGroup
	in := &autoscaling.DescribeAutoScalingGroupsInput{Filters: []types.Filter{
		{Name: aws.String("tag-key"), Values: []string{tagEnabled}},
		{Name: aws.String("tag-key"), Values: []string{tagCluster + cluster}},
	}}
	err := call.EachPage(ctx, call.ReadTimeout, autoscaling.NewDescribeAutoScalingGroupsPaginator(a.scaling, in), func(page *autoscaling.DescribeAutoScalingGroupsOutput) {
		for i := range page.AutoScalingGroups {
			g := &page.AutoScalingGroups[i]
			if !slices.ContainsFunc(g.Tags, func(t types.TagDescription) bool { return aws.ToString(t.Key) == tagManaged }) {
				out = append(out, scaledGroup(g))
			}
		}
	})
	if err != nil {
		return nil, denied("groups of the Cluster Autoscaler", fmt.Errorf("list the Auto Scaling groups of %s: %w", cluster, err))
	}
	return out, nil
}

func scaledGroup(in *types.AutoScalingGroup) offer.NodeGroup {
	g := offer.NodeGroup{
		Kind: offer.AutoscalerGroup, Name: aws.ToString(in.AutoScalingGroupName), Zones: in.AvailabilityZones,
		Min: aws.ToInt32(in.MinSize), Max: aws.ToInt32(in.MaxSize), Desired: aws.ToInt32(in.DesiredCapacity),
		CapacityType: api.CapacityOnDemand, Labels: map[string]string{},
	}
	for id := range strings.SplitSeq(aws.ToString(in.VPCZoneIdentifier), ",") {
		if id = strings.TrimSpace(id); id != "" {
			g.SubnetIDs = append(g.SubnetIDs, id)
		}
	}
	for _, tag := range in.Tags {
		key, value := aws.ToString(tag.Key), aws.ToString(tag.Value)
		if label, ok := strings.CutPrefix(key, tagLabel); ok {
			g.Labels[label] = value
		}
		if taint, ok := strings.CutPrefix(key, tagTaint); ok {
			text, effect, _ := strings.Cut(value, ":")
			g.Taints = append(g.Taints, corev1.Taint{Key: taint, Value: text, Effect: corev1.TaintEffect(effect)})
		}
	}
	if in.LaunchTemplate != nil {
		g.LaunchTemplate = aws.ToString(in.LaunchTemplate.LaunchTemplateName)
	}
	addMixed(&g, in.MixedInstancesPolicy)
	for _, machine := range in.Instances {
		g.InstanceTypes = appendNew(g.InstanceTypes, aws.ToString(machine.InstanceType))
	}
	return g
}

// addMixed adds to a group what its policy says about instance types and how they are bought.
func addMixed(g *offer.NodeGroup, policy *types.MixedInstancesPolicy) {
	if policy == nil {
		return
	}
	if d := policy.InstancesDistribution; d != nil && aws.ToInt32(d.OnDemandPercentageAboveBaseCapacity) < 100 {
		g.CapacityType = ""
		if aws.ToInt32(d.OnDemandPercentageAboveBaseCapacity) == 0 && aws.ToInt32(d.OnDemandBaseCapacity) == 0 {
			g.CapacityType = api.CapacitySpot
		}
	}
	if policy.LaunchTemplate == nil {
		return
	}
	if t := policy.LaunchTemplate.LaunchTemplateSpecification; t != nil {
		g.LaunchTemplate = aws.ToString(t.LaunchTemplateName)
	}
	for _, override := range policy.LaunchTemplate.Overrides {
		g.InstanceTypes = appendNew(g.InstanceTypes, aws.ToString(override.InstanceType))
	}
}

func appendNew(list []string, value string) []string {
	if value == "" || slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}
