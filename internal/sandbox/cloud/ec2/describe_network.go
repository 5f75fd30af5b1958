package ec2

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

func (c *EC2) describeAvailabilityZones(_ *account.Caller, in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	wanted := func(zone string) bool {
		return (len(in.ZoneNames) == 0 || slices.Contains(in.ZoneNames, zone)) &&
			(len(in.ZoneIds) == 0 || slices.Contains(in.ZoneIds, ZoneID(zone)))
	}
	for _, name := range in.ZoneNames {
		if !slices.Contains(c.Zones(), name) {
			return nil, account.Fail("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	kept, err := selected(c.Zones(), in.Filters, func(zone string) attributes {
		return attributes{"zone-name": {zone}, "zone-id": {ZoneID(zone)}, "region-name": {c.Region}, "state": {"available"},
			"zone-type": {"availability-zone"}, "opt-in-status": {"opt-in-not-required"}, "group-name": {c.Region}}
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
			ZoneName: &zone, ZoneId: aws.String(ZoneID(zone)), RegionName: &c.Region, GroupName: &c.Region,
			State: types.AvailabilityZoneStateAvailable, ZoneType: aws.String("availability-zone"),
			OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired, NetworkBorderGroup: &c.Region,
		})
	}
	return out, nil
}

func (c *EC2) describeSubnets(_ *account.Caller, in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	for _, id := range in.SubnetIds {
		if c.Network.Subnets[id] == nil {
			return nil, account.Fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	var candidates []*Subnet
	for _, id := range account.SortedKeys(c.Network.Subnets) {
		if len(in.SubnetIds) == 0 || slices.Contains(in.SubnetIds, id) {
			candidates = append(candidates, c.Network.Subnets[id])
		}
	}
	kept, err := selected(candidates, in.Filters, c.subnetAttributes)
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
			SubnetId: &s.id, SubnetArn: aws.String(c.ec2ARN("subnet", s.id)), VpcId: &c.Network.VPC, OwnerId: &c.AccountID,
			AvailabilityZone: &s.zone, AvailabilityZoneId: aws.String(ZoneID(s.zone)), CidrBlock: aws.String(s.cidr.String()),
			AvailableIpAddressCount: aws.Int32(int32(s.Free())), MapPublicIpOnLaunch: &s.Public,
			State: types.SubnetStateAvailable, DefaultForAz: aws.Bool(false), Tags: ec2Tags(s.tags),
		})
	}
	return out, nil
}

func (c *EC2) subnetAttributes(s *Subnet) attributes {
	return attributes{
		"subnet-id": {s.id}, "vpc-id": {c.Network.VPC}, "owner-id": {c.AccountID}, "state": {"available"},
		"availability-zone": {s.zone}, "availabilityZone": {s.zone}, "availability-zone-id": {ZoneID(s.zone)},
		"cidr-block": {s.cidr.String()}, "map-public-ip-on-launch": boolText(s.Public),
	}.withTags(s.tags)
}

func (c *EC2) describeSecurityGroups(_ *account.Caller, in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	for _, id := range in.GroupIds {
		if c.Network.groups[id] == nil {
			return nil, account.Fail("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	var candidates []*securityGroup
	for _, id := range account.SortedKeys(c.Network.groups) {
		group := c.Network.groups[id]
		if (len(in.GroupIds) == 0 || slices.Contains(in.GroupIds, id)) && (len(in.GroupNames) == 0 || slices.Contains(in.GroupNames, group.name)) {
			candidates = append(candidates, group)
		}
	}
	kept, err := selected(candidates, in.Filters, func(g *securityGroup) attributes {
		return attributes{"group-id": {g.id}, "group-name": {g.name}, "vpc-id": {c.Network.VPC}, "owner-id": {c.AccountID}, "description": {g.description}}.withTags(g.tags)
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
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{GroupId: &g.id, GroupName: &g.name, Description: &g.description,
			VpcId: &c.Network.VPC, OwnerId: &c.AccountID, SecurityGroupArn: aws.String(c.ec2ARN("security-group", g.id)), Tags: ec2Tags(g.tags)})
	}
	return out, nil
}
