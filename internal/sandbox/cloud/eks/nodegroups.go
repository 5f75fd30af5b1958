package eks

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/autoscaling"
)

// NodeGroup is a managed node group, as far as it can be described: it keeps no
// machines.
type NodeGroup struct {
	Name          string
	InstanceTypes []string
	AMIType       string // as in EKS, such as AL2023_x86_64_STANDARD
	Spot          bool
	Min, Max      int32
	Labels        map[string]string
	Taints        map[string]string // NoSchedule, key to value
	NodeRole      string
}

// AddNodeGroup adds a managed node group with its scaling group.
func (c *EKS) AddNodeGroup(g NodeGroup) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.NodeGroups[g.Name] = g
	c.autoscaling.ScalingGroups[g.scalingGroup()] = autoscaling.ScalingGroup{
		Name: g.scalingGroup(), InstanceTypes: g.InstanceTypes, Min: g.Min, Max: g.Max,
		Tags: map[string]string{"eks:nodegroup-name": g.Name, "k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/" + c.Cluster.Name: "owned"},
	}
}

func (g *NodeGroup) scalingGroup() string { return "eks-" + g.Name }

func (c *EKS) listNodegroups(_ *account.Cluster, in *eks.ListNodegroupsInput) (*eks.ListNodegroupsOutput, error) {
	part, next, err := page(account.SortedKeys(c.NodeGroups), in.NextToken, in.MaxResults)
	return &eks.ListNodegroupsOutput{Nodegroups: part, NextToken: next}, err
}

func (c *EKS) describeNodegroup(_ *account.Cluster, in *eks.DescribeNodegroupInput) (*eks.DescribeNodegroupOutput, error) {
	g, ok := c.NodeGroups[account.Deref(in.NodegroupName)]
	if !ok {
		return nil, account.Fail("ResourceNotFoundException", "No node group found for name: %s.", account.Deref(in.NodegroupName)).With(404)
	}
	described := &types.Nodegroup{
		NodegroupName: &g.Name, ClusterName: &c.Cluster.Name, Status: types.NodegroupStatusActive, AmiType: types.AMITypes(g.AMIType),
		InstanceTypes: g.InstanceTypes, CapacityType: types.CapacityTypesOnDemand, Labels: maps.Clone(g.Labels), NodeRole: account.NilIfEmpty(g.NodeRole),
		ScalingConfig: &types.NodegroupScalingConfig{MinSize: &g.Min, MaxSize: &g.Max, DesiredSize: &g.Min}, DiskSize: aws.Int32(20),
		Resources: &types.NodegroupResources{AutoScalingGroups: []types.AutoScalingGroup{{Name: aws.String(g.scalingGroup())}}},
		Subnets:   slices.Sorted(maps.Keys(c.ec2.Network.Subnets)),
	}
	if g.Spot {
		described.CapacityType = types.CapacityTypesSpot
	}
	for _, key := range account.SortedKeys(g.Taints) {
		described.Taints = append(described.Taints, types.Taint{Key: aws.String(key), Value: aws.String(g.Taints[key]), Effect: types.TaintEffectNoSchedule})
	}
	return &eks.DescribeNodegroupOutput{Nodegroup: described}, nil
}
