package network

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

// AddTo registers the calls that the network answers.
func (n *Network) AddTo(s *account.Service) {
	account.AddOnAnything(s, n, (*Network).describeAvailabilityZones)
	account.AddOnAnything(s, n, (*Network).describeSubnets)
	account.AddOnAnything(s, n, (*Network).describeSecurityGroups)
}

func (n *Network) describeAvailabilityZones(_ *account.Caller, in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	wanted := func(zone string) bool {
		return (len(in.ZoneNames) == 0 || slices.Contains(in.ZoneNames, zone)) &&
			(len(in.ZoneIds) == 0 || slices.Contains(in.ZoneIds, account.ZoneID(zone)))
	}
	for _, name := range in.ZoneNames {
		if !slices.Contains(n.Zones(), name) {
			return nil, account.Fail("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	kept, err := resource.Selected(n.Zones(), in.Filters, func(zone string) resource.Attributes {
		return resource.Attributes{"zone-name": {zone}, "zone-id": {account.ZoneID(zone)}, "region-name": {n.Region}, "state": {"available"},
			"zone-type": {"availability-zone"}, "opt-in-status": {"opt-in-not-required"}, "group-name": {n.Region}}
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeAvailabilityZonesOutput{AvailabilityZones: []types.AvailabilityZone{}}
	for _, zone := range kept {
		if !wanted(zone) {
			continue
		}
		out.AvailabilityZones = append(out.AvailabilityZones, types.AvailabilityZone{
			ZoneName: &zone, ZoneId: aws.String(account.ZoneID(zone)), RegionName: &n.Region, GroupName: &n.Region,
			State: types.AvailabilityZoneStateAvailable, ZoneType: aws.String("availability-zone"),
			OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired, NetworkBorderGroup: &n.Region,
		})
	}
	return out, nil
}

func (n *Network) describeSubnets(_ *account.Caller, in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	for _, id := range in.SubnetIds {
		if n.Subnets[id] == nil {
			return nil, account.Fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	var candidates []*Subnet
	for _, id := range account.SortedKeys(n.Subnets) {
		if len(in.SubnetIds) == 0 || slices.Contains(in.SubnetIds, id) {
			candidates = append(candidates, n.Subnets[id])
		}
	}
	kept, err := resource.Selected(candidates, in.Filters, n.subnetAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSubnetsOutput{NextToken: next, Subnets: []types.Subnet{}}
	for _, s := range part {
		out.Subnets = append(out.Subnets, types.Subnet{
			SubnetId: &s.ID, SubnetArn: aws.String(resource.ARN(n.Account, "subnet", s.ID)), VpcId: &n.VPC, OwnerId: &n.AccountID,
			AvailabilityZone: &s.Zone, AvailabilityZoneId: aws.String(account.ZoneID(s.Zone)), CidrBlock: aws.String(s.cidr.String()),
			AvailableIpAddressCount: aws.Int32(int32(s.Free())), MapPublicIpOnLaunch: &s.Public,
			State: types.SubnetStateAvailable, DefaultForAz: aws.Bool(false), Tags: resource.Tags(s.Tags),
		})
	}
	return out, nil
}

func (n *Network) subnetAttributes(s *Subnet) resource.Attributes {
	return resource.Attributes{
		"subnet-id": {s.ID}, "vpc-id": {n.VPC}, "owner-id": {n.AccountID}, "state": {"available"},
		"availability-zone": {s.Zone}, "availabilityZone": {s.Zone}, "availability-zone-id": {account.ZoneID(s.Zone)},
		"cidr-block": {s.cidr.String()}, "map-public-ip-on-launch": resource.Bool(s.Public),
	}.WithTags(s.Tags)
}

func (n *Network) describeSecurityGroups(_ *account.Caller, in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	for _, id := range in.GroupIds {
		if n.Groups[id] == nil {
			return nil, account.Fail("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	var candidates []*Group
	for _, id := range account.SortedKeys(n.Groups) {
		group := n.Groups[id]
		if (len(in.GroupIds) == 0 || slices.Contains(in.GroupIds, id)) && (len(in.GroupNames) == 0 || slices.Contains(in.GroupNames, group.Name)) {
			candidates = append(candidates, group)
		}
	}
	kept, err := resource.Selected(candidates, in.Filters, func(g *Group) resource.Attributes {
		return resource.Attributes{"group-id": {g.id}, "group-name": {g.Name}, "vpc-id": {n.VPC}, "owner-id": {n.AccountID}, "description": {g.description}}.WithTags(g.Tags)
	})
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupsOutput{NextToken: next, SecurityGroups: []types.SecurityGroup{}}
	for _, g := range part {
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{GroupId: &g.id, GroupName: &g.Name, Description: &g.description,
			VpcId: &n.VPC, OwnerId: &n.AccountID, SecurityGroupArn: aws.String(resource.ARN(n.Account, "security-group", g.id)), Tags: resource.Tags(g.Tags)})
	}
	return out, nil
}
