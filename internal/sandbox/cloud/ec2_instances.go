package cloud

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

var instanceIDForm = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

// findMachines looks instances up by id; all must exist.
func (c *Cloud) findMachines(ids []string) ([]*machine, error) {
	var found []*machine
	var missing []string
	for _, id := range ids {
		if !instanceIDForm.MatchString(id) {
			return nil, fail("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if m := c.machines[id]; m != nil {
			found = append(found, m)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 1 {
		return nil, fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", missing[0])
	}
	if len(missing) > 1 {
		return nil, fail("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
	}
	return found, nil
}

func (c *Cloud) describeInstances(_ *call, in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
	if in.MaxResults != nil && len(in.InstanceIds) > 0 {
		return nil, fail("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if in.MaxResults != nil && (*in.MaxResults < 5 || *in.MaxResults > 1000) {
		return nil, fail("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.", *in.MaxResults)
	}
	if _, err := matchesFilters(in.Filters, c.machineAttributes(blankMachine())); err != nil {
		return nil, err
	}
	visible, err := c.visibleMachines(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	kept, err := selected(visible, in.Filters, c.machineAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := page(kept, in.NextToken, in.MaxResults, 1000)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstancesOutput{NextToken: next, Reservations: []types.Reservation{}}
	for _, m := range part {
		out.Reservations = append(out.Reservations, types.Reservation{
			ReservationId: &m.reservation, OwnerId: &c.account, Instances: []types.Instance{c.describedInstance(m)},
		})
	}
	return out, nil
}

// visibleMachines returns the machines with the given ids, or all: those that
// were launched a moment ago may not be seen yet.
func (c *Cloud) visibleMachines(ids []string) ([]*machine, error) {
	known := slices.Clone(ids)
	if len(ids) == 0 {
		known = sortedKeys(c.machines)
	}
	found, err := c.findMachines(known)
	if err != nil {
		return nil, err
	}
	visible := make([]*machine, 0, len(found))
	for _, m := range found {
		seen := !c.now().Before(m.launched.Add(c.behaviour.ReadLag))
		switch {
		case seen:
			visible = append(visible, m)
		case len(ids) > 0:
			return nil, fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", m.id)
		}
	}
	return visible, nil
}

// blankMachine has the attributes of any machine, so that an unknown filter is
// an error even if there is none.
func blankMachine() *machine {
	return &machine{launchSpec: launchSpec{instanceType: &instanceType{}, subnet: &subnet{}, image: &image{}}}
}

func (c *Cloud) machineAttributes(m *machine) attributes {
	lifecycle := ""
	if m.capacityType == capacitySpot {
		lifecycle = capacitySpot
	}
	return attributes{
		"instance-id": {m.id}, "instance-type": {m.instanceType.name}, "instance-state-name": {m.state}, "image-id": {m.image.id},
		"availability-zone": {m.subnet.zone}, "subnet-id": {m.subnet.id}, "vpc-id": {c.network.vpc}, "instance-lifecycle": {lifecycle},
		"private-dns-name": {c.privateDNS(m.address)}, "private-ip-address": {m.address.String()}, "owner-id": {c.account},
		"reservation-id": {m.reservation}, "client-token": {m.clientToken}, "architecture": {m.image.arch},
		"instance.group-id": m.groups, "iam-instance-profile.arn": {c.profileARN(m.profile)}, "launch-time": {m.launched.UTC().Format(time.RFC3339)},
	}.withTags(m.tags)
}

// stateCode returns the number that goes with the name of a state.
func stateCode(name string) int32 {
	switch name {
	case stateRunning:
		return 16
	case stateShuttingDown:
		return 32
	case stateTerminated:
		return 48
	case stateStopping:
		return 64
	case stateStopped:
		return 80
	default:
		return 0
	}
}

func instanceState(name string) *types.InstanceState {
	return &types.InstanceState{Name: types.InstanceStateName(name), Code: aws.Int32(stateCode(name))}
}

func (c *Cloud) describedInstance(m *machine) types.Instance {
	described := types.Instance{
		InstanceId: &m.id, InstanceType: types.InstanceType(m.instanceType.name), ImageId: &m.image.id, State: instanceState(m.state),
		LaunchTime: &m.launched, Placement: &types.Placement{AvailabilityZone: &m.subnet.zone, AvailabilityZoneId: aws.String(zoneID(m.subnet.zone)), Tenancy: types.TenancyDefault},
		Architecture: types.ArchitectureValues(m.image.arch), AmiLaunchIndex: aws.Int32(0), ClientToken: nilIfEmpty(m.clientToken),
		EbsOptimized: aws.Bool(true), EnaSupport: aws.Bool(true), Hypervisor: types.HypervisorTypeXen, VirtualizationType: types.VirtualizationTypeHvm,
		RootDeviceName: &m.image.rootDevice, RootDeviceType: types.DeviceTypeEbs, PlatformDetails: aws.String("Linux/UNIX"), Tags: ec2Tags(m.tags),
	}
	if m.image.windows {
		described.Platform, described.PlatformDetails = types.PlatformValuesWindows, aws.String("Windows")
	}
	if m.capacityType == capacitySpot {
		described.InstanceLifecycle = types.InstanceLifecycleTypeSpot
		described.SpotInstanceRequestId = aws.String("sir-" + m.id[len(m.id)-8:])
	}
	if m.state == stateTerminated {
		described.PrivateDnsName, described.StateTransitionReason = aws.String(""), aws.String("User initiated ("+m.ended.UTC().Format("2006-01-02 15:04:05 GMT")+")")
		return described
	}
	c.addNetwork(&described, m)
	if m.profile != "" {
		described.IamInstanceProfile = &types.IamInstanceProfile{Arn: aws.String(c.profileARN(m.profile))}
	}
	if o := m.metadata; o != nil {
		described.MetadataOptions = &types.InstanceMetadataOptionsResponse{
			HttpEndpoint: types.InstanceMetadataEndpointState(o.HttpEndpoint), HttpTokens: types.HttpTokensState(o.HttpTokens),
			HttpPutResponseHopLimit: o.HttpPutResponseHopLimit, HttpProtocolIpv6: types.InstanceMetadataProtocolState(o.HttpProtocolIpv6),
			State: types.InstanceMetadataOptionsStateApplied,
		}
	}
	return described
}

// addNetwork fills in what a terminated instance no longer has.
func (c *Cloud) addNetwork(described *types.Instance, m *machine) {
	address := m.address.String()
	described.PrivateIpAddress, described.PrivateDnsName = &address, aws.String(c.privateDNS(m.address))
	described.SubnetId, described.VpcId = &m.subnet.id, &c.network.vpc
	for _, id := range m.groups {
		described.SecurityGroups = append(described.SecurityGroups, types.GroupIdentifier{GroupId: &id, GroupName: &c.network.groups[id].name})
	}
	described.NetworkInterfaces = []types.InstanceNetworkInterface{{
		NetworkInterfaceId: aws.String("eni-" + m.id[2:]), PrivateIpAddress: &address, SubnetId: &m.subnet.id, VpcId: &c.network.vpc,
		Status: types.NetworkInterfaceStatusInUse, Groups: described.SecurityGroups,
	}}
	for _, d := range m.devices {
		described.BlockDeviceMappings = append(described.BlockDeviceMappings, types.InstanceBlockDeviceMapping{
			DeviceName: d.DeviceName, Ebs: &types.EbsInstanceBlockDevice{VolumeId: aws.String(fixedID("vol", m.id+deref(d.DeviceName))), Status: types.AttachmentStatusAttached},
		})
	}
}

func accessesOfTerminateInstances(c *Cloud, in *ec2.TerminateInstancesInput) []access {
	var needed []access
	for _, id := range in.InstanceIds {
		var tags map[string]string
		if m := c.machines[id]; m != nil {
			tags = m.tags
		}
		needed = append(needed, access{action: "ec2:TerminateInstances", resource: c.ec2ARN("instance", id), context: resourceTags("ec2", tags)})
	}
	return needed
}

func (c *Cloud) terminateInstances(_ *call, in *ec2.TerminateInstancesInput) (*ec2.TerminateInstancesOutput, error) {
	if len(in.InstanceIds) == 0 {
		return nil, fail("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if len(in.InstanceIds) > 1000 {
		return nil, fail("InvalidParameterValue", "The maximum number of instances that can be terminated at a time is 1000")
	}
	found, err := c.findMachines(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	out := &ec2.TerminateInstancesOutput{TerminatingInstances: []types.InstanceStateChange{}}
	for _, m := range found {
		before := m.state
		c.terminate(m)
		out.TerminatingInstances = append(out.TerminatingInstances, types.InstanceStateChange{
			InstanceId: &m.id, PreviousState: instanceState(before), CurrentState: instanceState(m.state),
		})
	}
	return out, nil
}
