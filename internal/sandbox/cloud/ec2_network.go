package cloud

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func (c *Cloud) describeAvailabilityZones(_ *call, in *ec2.DescribeAvailabilityZonesInput) (*ec2.DescribeAvailabilityZonesOutput, error) {
	wanted := func(zone string) bool {
		return (len(in.ZoneNames) == 0 || slices.Contains(in.ZoneNames, zone)) &&
			(len(in.ZoneIds) == 0 || slices.Contains(in.ZoneIds, zoneID(zone)))
	}
	for _, name := range in.ZoneNames {
		if !slices.Contains(c.zones(), name) {
			return nil, fail("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	kept, err := selected(c.zones(), in.Filters, func(zone string) attributes {
		return attributes{"zone-name": {zone}, "zone-id": {zoneID(zone)}, "region-name": {c.region}, "state": {"available"},
			"zone-type": {"availability-zone"}, "opt-in-status": {"opt-in-not-required"}, "group-name": {c.region}}
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
			ZoneName: &zone, ZoneId: aws.String(zoneID(zone)), RegionName: &c.region, GroupName: &c.region,
			State: types.AvailabilityZoneStateAvailable, ZoneType: aws.String("availability-zone"),
			OptInStatus: types.AvailabilityZoneOptInStatusOptInNotRequired, NetworkBorderGroup: &c.region,
		})
	}
	return out, nil
}

func (c *Cloud) describeVpcs(_ *call, in *ec2.DescribeVpcsInput) (*ec2.DescribeVpcsOutput, error) {
	for _, id := range in.VpcIds {
		if id != c.network.vpc {
			return nil, fail("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
		}
	}
	kept, err := selected([]*network{c.network}, in.Filters, func(n *network) attributes {
		return attributes{"vpc-id": {n.vpc}, "cidr": {n.cidr.String()}, "state": {"available"}, "is-default": {"false"}, "owner-id": {c.account}}.withTags(n.tags)
	})
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeVpcsOutput{Vpcs: []types.Vpc{}}
	for _, n := range kept {
		out.Vpcs = append(out.Vpcs, types.Vpc{VpcId: &n.vpc, CidrBlock: aws.String(n.cidr.String()), OwnerId: &c.account,
			State: types.VpcStateAvailable, IsDefault: aws.Bool(false), InstanceTenancy: types.TenancyDefault, Tags: ec2Tags(n.tags)})
	}
	return out, nil
}

func (c *Cloud) describeSubnets(_ *call, in *ec2.DescribeSubnetsInput) (*ec2.DescribeSubnetsOutput, error) {
	for _, id := range in.SubnetIds {
		if c.network.subnets[id] == nil {
			return nil, fail("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
		}
	}
	var candidates []*subnet
	for _, id := range sortedKeys(c.network.subnets) {
		if len(in.SubnetIds) == 0 || slices.Contains(in.SubnetIds, id) {
			candidates = append(candidates, c.network.subnets[id])
		}
	}
	kept, err := selected(candidates, in.Filters, c.subnetAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSubnetsOutput{NextToken: next, Subnets: []types.Subnet{}}
	for _, s := range part {
		out.Subnets = append(out.Subnets, types.Subnet{
			SubnetId: &s.id, SubnetArn: aws.String(c.ec2ARN("subnet", s.id)), VpcId: &c.network.vpc, OwnerId: &c.account,
			AvailabilityZone: &s.zone, AvailabilityZoneId: aws.String(zoneID(s.zone)), CidrBlock: aws.String(s.cidr.String()),
			AvailableIpAddressCount: aws.Int32(int32(s.free())), MapPublicIpOnLaunch: &s.public,
			State: types.SubnetStateAvailable, DefaultForAz: aws.Bool(false), Tags: ec2Tags(s.tags),
		})
	}
	return out, nil
}

func (c *Cloud) subnetAttributes(s *subnet) attributes {
	return attributes{
		"subnet-id": {s.id}, "vpc-id": {c.network.vpc}, "owner-id": {c.account}, "state": {"available"},
		"availability-zone": {s.zone}, "availabilityZone": {s.zone}, "availability-zone-id": {zoneID(s.zone)},
		"cidr-block": {s.cidr.String()}, "map-public-ip-on-launch": boolText(s.public),
	}.withTags(s.tags)
}

func (c *Cloud) describeSecurityGroups(_ *call, in *ec2.DescribeSecurityGroupsInput) (*ec2.DescribeSecurityGroupsOutput, error) {
	for _, id := range in.GroupIds {
		if c.network.groups[id] == nil {
			return nil, fail("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	var candidates []*securityGroup
	for _, id := range sortedKeys(c.network.groups) {
		group := c.network.groups[id]
		if (len(in.GroupIds) == 0 || slices.Contains(in.GroupIds, id)) && (len(in.GroupNames) == 0 || slices.Contains(in.GroupNames, group.name)) {
			candidates = append(candidates, group)
		}
	}
	kept, err := selected(candidates, in.Filters, func(g *securityGroup) attributes {
		return attributes{"group-id": {g.id}, "group-name": {g.name}, "vpc-id": {c.network.vpc}, "owner-id": {c.account}, "description": {g.description}}.withTags(g.tags)
	})
	if err != nil {
		return nil, err
	}
	part, next, err := page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeSecurityGroupsOutput{NextToken: next, SecurityGroups: []types.SecurityGroup{}}
	for _, g := range part {
		out.SecurityGroups = append(out.SecurityGroups, types.SecurityGroup{GroupId: &g.id, GroupName: &g.name, Description: &g.description,
			VpcId: &c.network.vpc, OwnerId: &c.account, SecurityGroupArn: aws.String(c.ec2ARN("security-group", g.id)), Tags: ec2Tags(g.tags)})
	}
	return out, nil
}
