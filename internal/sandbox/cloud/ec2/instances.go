package ec2

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/catalogue"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/image"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/network"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

var instanceIDForm = regexp.MustCompile(`^i-([0-9a-f]{8}|[0-9a-f]{17})$`)

// findMachines looks instances up by id; all must exist.
func (c *EC2) findMachines(ids []string) ([]*Machine, error) {
	var found []*Machine
	var missing []string
	for _, id := range ids {
		if !instanceIDForm.MatchString(id) {
			return nil, account.Fail("InvalidInstanceID.Malformed", "Invalid id: \"%s\"", id)
		}
		if m := c.Machines[id]; m != nil {
			found = append(found, m)
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 1 {
		return nil, account.Fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", missing[0])
	}
	if len(missing) > 1 {
		return nil, account.Fail("InvalidInstanceID.NotFound", "The instance IDs '%s' do not exist", strings.Join(missing, ", "))
	}
	return found, nil
}

func (c *EC2) describeInstances(_ *account.Caller, in *ec2.DescribeInstancesInput) (*ec2.DescribeInstancesOutput, error) {
	if in.MaxResults != nil && len(in.InstanceIds) > 0 {
		return nil, account.Fail("InvalidParameterCombination", "The parameter instancesSet cannot be used with the parameter maxResults")
	}
	if in.MaxResults != nil && (*in.MaxResults < 5 || *in.MaxResults > 1000) {
		return nil, account.Fail("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between 5 and 1000.", *in.MaxResults)
	}
	if _, err := resource.Matches(in.Filters, c.machineAttributes(blankMachine())); err != nil {
		return nil, err
	}
	visible, err := c.visibleMachines(in.InstanceIds)
	if err != nil {
		return nil, err
	}
	kept, err := resource.Selected(visible, in.Filters, c.machineAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, max(len(kept), 1)) // without MaxResults, EC2 returns all
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstancesOutput{NextToken: next, Reservations: []types.Reservation{}}
	for _, m := range part {
		out.Reservations = append(out.Reservations, types.Reservation{
			ReservationId: &m.launchedAs, OwnerId: &c.AccountID, Instances: []types.Instance{c.describedInstance(m)},
		})
	}
	return out, nil
}

// visibleMachines returns the machines with the given ids, or all: those that
// were launched a moment ago may not be seen yet.
func (c *EC2) visibleMachines(ids []string) ([]*Machine, error) {
	known := slices.Clone(ids)
	if len(ids) == 0 {
		known = account.SortedKeys(c.Machines)
	}
	found, err := c.findMachines(known)
	if err != nil {
		return nil, err
	}
	visible := make([]*Machine, 0, len(found))
	for _, m := range found {
		seen := !c.Now().Before(m.launched.Add(c.Behaves.ReadLag))
		switch {
		case seen:
			visible = append(visible, m)
		case len(ids) > 0:
			return nil, account.Fail("InvalidInstanceID.NotFound", "The instance ID '%s' does not exist", m.id)
		}
	}
	return visible, nil
}

// blankMachine has the attributes of any machine, so that an unknown filter is
// an error even if there is none.
func blankMachine() *Machine {
	return &Machine{launchSpec: launchSpec{instanceType: &catalogue.Type{}, subnet: &network.Subnet{}, image: &image.Image{}}}
}

func (c *EC2) machineAttributes(m *Machine) resource.Attributes {
	lifecycle := ""
	if m.capacityType == catalogue.Spot {
		lifecycle = catalogue.Spot
	}
	return resource.Attributes{
		"instance-id": {m.id}, "instance-type": {m.instanceType.Name}, "instance-state-name": {m.state}, "image-id": {m.image.ID},
		"availability-zone": {m.subnet.Zone}, "subnet-id": {m.subnet.ID}, "vpc-id": {c.Network.VPC}, "instance-lifecycle": {lifecycle},
		"private-dns-name": {c.PrivateDNS(m.Address)}, "private-ip-address": {m.Address.String()}, "owner-id": {c.AccountID},
		"reservation-id": {m.launchedAs}, "client-token": {m.clientToken}, "architecture": {m.image.Arch},
		"instance.group-id": m.groups, "iam-instance-profile.arn": {c.iam.ProfileARN(m.profile)}, "launch-time": {m.launched.UTC().Format(time.RFC3339)},
	}.WithTags(m.tags)
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

func (c *EC2) describedInstance(m *Machine) types.Instance {
	described := types.Instance{
		InstanceId: &m.id, InstanceType: types.InstanceType(m.instanceType.Name), ImageId: &m.image.ID, State: instanceState(m.state),
		LaunchTime: &m.launched, Placement: &types.Placement{AvailabilityZone: &m.subnet.Zone, AvailabilityZoneId: aws.String(account.ZoneID(m.subnet.Zone)), Tenancy: types.TenancyDefault},
		Architecture: types.ArchitectureValues(m.image.Arch), AmiLaunchIndex: aws.Int32(0), ClientToken: account.NilIfEmpty(m.clientToken),
		EbsOptimized: aws.Bool(true), EnaSupport: aws.Bool(true), Hypervisor: types.HypervisorTypeXen, VirtualizationType: types.VirtualizationTypeHvm,
		RootDeviceName: &m.image.RootDevice, RootDeviceType: types.DeviceTypeEbs, PlatformDetails: aws.String("Linux/UNIX"), Tags: resource.Tags(m.tags),
	}
	if m.image.Windows {
		described.Platform, described.PlatformDetails = types.PlatformValuesWindows, aws.String("Windows")
	}
	if m.capacityType == catalogue.Spot {
		described.InstanceLifecycle = types.InstanceLifecycleTypeSpot
		described.SpotInstanceRequestId = aws.String("sir-" + m.id[len(m.id)-8:])
	}
	if r := m.launchSpec.reservation; r != nil {
		described.CapacityReservationSpecification = &types.CapacityReservationSpecificationResponse{CapacityReservationPreference: r.CapacityReservationPreference}
		if r.CapacityReservationTarget != nil {
			described.CapacityReservationSpecification.CapacityReservationTarget = &types.CapacityReservationTargetResponse{CapacityReservationId: r.CapacityReservationTarget.CapacityReservationId}
		}
	}
	described.CapacityReservationId = account.NilIfEmpty(reservationID(c, m))
	if m.state == stateTerminated {
		described.PrivateDnsName, described.StateTransitionReason = aws.String(""), aws.String("User initiated ("+m.ended.UTC().Format("2006-01-02 15:04:05 GMT")+")")
		return described
	}
	c.addNetwork(&described, m)
	if m.profile != "" {
		described.IamInstanceProfile = &types.IamInstanceProfile{Arn: aws.String(c.iam.ProfileARN(m.profile))}
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
func (c *EC2) addNetwork(described *types.Instance, m *Machine) {
	address := m.Address.String()
	described.PrivateIpAddress, described.PrivateDnsName = &address, aws.String(c.PrivateDNS(m.Address))
	described.SubnetId, described.VpcId = &m.subnet.ID, &c.Network.VPC
	for _, id := range m.groups {
		described.SecurityGroups = append(described.SecurityGroups, types.GroupIdentifier{GroupId: &id, GroupName: &c.Network.Groups[id].Name})
	}
	described.NetworkInterfaces = []types.InstanceNetworkInterface{{
		NetworkInterfaceId: aws.String("eni-" + m.id[2:]), PrivateIpAddress: &address, SubnetId: &m.subnet.ID, VpcId: &c.Network.VPC,
		Status: types.NetworkInterfaceStatusInUse, Groups: described.SecurityGroups,
	}}
	for _, d := range m.devices {
		described.BlockDeviceMappings = append(described.BlockDeviceMappings, types.InstanceBlockDeviceMapping{
			DeviceName: d.DeviceName, Ebs: &types.EbsInstanceBlockDevice{VolumeId: aws.String(account.FixedID("vol", m.id+account.Deref(d.DeviceName))), Status: types.AttachmentStatusAttached},
		})
	}
}

func accessesOfTerminateInstances(c *EC2, in *ec2.TerminateInstancesInput) []account.Access {
	var needed []account.Access
	for _, id := range in.InstanceIds {
		var tags map[string]string
		if m := c.Machines[id]; m != nil {
			tags = m.tags
		}
		needed = append(needed, account.Access{Action: "ec2:TerminateInstances", Resource: resource.ARN(c.Account, "instance", id), Context: account.ResourceTags("ec2", tags)})
	}
	return needed
}

func (c *EC2) terminateInstances(_ *account.Caller, in *ec2.TerminateInstancesInput) (*ec2.TerminateInstancesOutput, error) {
	if len(in.InstanceIds) == 0 {
		return nil, account.Fail("MissingParameter", "The request must contain the parameter InstanceId")
	}
	if len(in.InstanceIds) > 1000 {
		return nil, account.Fail("InvalidParameterValue", "The maximum number of instances that can be terminated at a time is 1000")
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
