package cloud

import (
	"encoding/base64"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	ec2model "github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2"
)

// template makes a launch template for x86 with everything that nodes need.
func (f *fixture) template(t *testing.T, name string) {
	t.Helper()
	f.templateWith(t, name, "packhorse-node")
}

// templateWith is template with an instance profile.
func (f *fixture) templateWith(t *testing.T, name, profile string) {
	t.Helper()
	groups := must2(f.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("group-name", "node")}}))(t)
	_, err := f.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name,
		LaunchTemplateData: &types.RequestLaunchTemplateData{
			ImageId:            aws.String(f.imageFor(t, "x86_64")),
			UserData:           aws.String(base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\n"))),
			SecurityGroupIds:   []string{*groups.SecurityGroups[0].GroupId},
			IamInstanceProfile: &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile},
			MetadataOptions:    &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: types.LaunchTemplateHttpTokensStateRequired, HttpPutResponseHopLimit: aws.Int32(2)},
			BlockDeviceMappings: []types.LaunchTemplateBlockDeviceMappingRequest{{
				DeviceName: aws.String("/dev/xvda"), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(30), VolumeType: types.VolumeTypeGp3},
			}},
			TagSpecifications: []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeNetworkInterface, Tags: []types.Tag{{Key: aws.String("from"), Value: aws.String("template")}}}},
		},
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeLaunchTemplate, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("test")}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fleet is a request for count machines of the types in the zones, in order of
// priority.
func (f *fixture) fleet(t *testing.T, count int32, capacityType types.DefaultTargetCapacityType, typeNames []string, zones string) *ec2.CreateFleetInput {
	t.Helper()
	var overrides []types.FleetLaunchTemplateOverridesRequest
	for i, name := range typeNames {
		for _, zone := range zones {
			overrides = append(overrides, types.FleetLaunchTemplateOverridesRequest{
				InstanceType: types.InstanceType(name), SubnetId: aws.String(f.subnetIn(t, string(zone))), Priority: aws.Float64(float64(i)),
			})
		}
	}
	return &ec2.CreateFleetInput{
		Type: types.FleetTypeInstant,
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest")},
			Overrides:                   overrides,
		}},
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{TotalTargetCapacity: &count, DefaultTargetCapacityType: capacityType},
		TagSpecifications:           []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: aws.String("pool"), Value: aws.String("default")}}}},
	}
}

// outcome says what a fleet launched and why it did not launch the rest.
func outcome(out *ec2.CreateFleetOutput) []string {
	var lines []string
	for _, i := range out.Instances {
		lines = append(lines, fmt.Sprintf("%d %s %s %s", len(i.InstanceIds), i.InstanceType, *i.LaunchTemplateAndOverrides.Overrides.AvailabilityZone, i.Lifecycle))
	}
	for _, e := range out.Errors {
		lines = append(lines, fmt.Sprintf("%s %s", *e.ErrorCode, e.LaunchTemplateAndOverrides.Overrides.InstanceType))
	}
	return lines
}

func TestCreateFleetChoosesOffering(t *testing.T) {
	const spot, onDemand = types.DefaultTargetCapacityTypeSpot, types.DefaultTargetCapacityTypeOnDemand
	cases := map[string]struct {
		count        int32
		capacityType types.DefaultTargetCapacityType
		types        []string
		zones        string
		prepare      func(*fixture, *ec2.CreateFleetInput)
		want         []string
	}{
		"on-demand takes the cheapest": {
			count: 3, capacityType: onDemand, types: []string{"m5.xlarge", "m5.large"}, zones: "a",
			want: []string{"3 m5.large eu-west-1a on-demand"},
		},
		"on-demand by priority": {
			count: 1, capacityType: onDemand, types: []string{"m5.xlarge", "m5.large"}, zones: "a",
			prepare: func(_ *fixture, in *ec2.CreateFleetInput) {
				in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized}
			},
			want: []string{"1 m5.xlarge eu-west-1a on-demand"},
		},
		"spot with capacity goes before a cheaper drained pool": {
			count: 2, capacityType: spot, types: []string{"m5.large", "m5.xlarge"}, zones: "a",
			prepare: func(f *fixture, in *ec2.CreateFleetInput) {
				f.cloud.SetCapacity("m5.large", "*", "spot", 1)
				in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
			},
			want: []string{"2 m5.xlarge eu-west-1a spot"},
		},
		"the rest comes from the next offering": {
			count: 3, capacityType: onDemand, types: []string{"m5.large", "m5.xlarge"}, zones: "a",
			prepare: func(f *fixture, _ *ec2.CreateFleetInput) {
				f.cloud.SetCapacity("m5.large", "eu-west-1a", "on-demand", 1)
			},
			want: []string{"1 m5.large eu-west-1a on-demand", "2 m5.xlarge eu-west-1a on-demand", "InsufficientInstanceCapacity m5.large"},
		},
		"no capacity anywhere": {
			count: 1, capacityType: onDemand, types: []string{"m5.large"}, zones: "ab",
			prepare: func(f *fixture, _ *ec2.CreateFleetInput) { f.cloud.SetCapacity("*", "*", "*", 0) },
			want:    []string{"InsufficientInstanceCapacity m5.large", "InsufficientInstanceCapacity m5.large"},
		},
		"less than the minimum is nothing": {
			count: 3, capacityType: onDemand, types: []string{"m5.large"}, zones: "a",
			prepare: func(f *fixture, in *ec2.CreateFleetInput) {
				f.cloud.SetCapacity("m5.large", "*", "*", 2)
				in.OnDemandOptions = &types.OnDemandOptionsRequest{MinTargetCapacity: aws.Int32(3)}
			},
			want: []string{"InsufficientInstanceCapacity m5.large"},
		},
		"type not offered in the zone": {count: 1, capacityType: onDemand, types: []string{"m5.xlarge"}, zones: "c", want: []string{"Unsupported m5.xlarge"}},
		"type not sold as spot":        {count: 1, capacityType: spot, types: []string{"m5.metal"}, zones: "a", want: []string{"Unsupported m5.metal"}},
		"image for another processor":  {count: 1, capacityType: onDemand, types: []string{"c7gd.large"}, zones: "a", want: []string{"InvalidParameterValue c7gd.large"}},
		"unknown subnet": {
			count: 1, capacityType: onDemand, types: []string{"m5.large"}, zones: "a",
			prepare: func(_ *fixture, in *ec2.CreateFleetInput) {
				in.LaunchTemplateConfigs[0].Overrides[0].SubnetId = aws.String("subnet-gone")
			},
			want: []string{"InvalidSubnetID.NotFound m5.large"},
		},
		"subnet without addresses": {
			count: 2, capacityType: onDemand, types: []string{"m5.large"}, zones: "a",
			prepare: func(f *fixture, in *ec2.CreateFleetInput) {
				if err := f.cloud.SetFreeAddresses(*in.LaunchTemplateConfigs[0].Overrides[0].SubnetId, 1); err != nil {
					panic(err)
				}
			},
			want: []string{"1 m5.large eu-west-1a on-demand", "InsufficientFreeAddressesInSubnet m5.large"},
		},
		"on-demand quota": {
			count: 2, capacityType: onDemand, types: []string{"m5.large"}, zones: "a",
			prepare: func(f *fixture, _ *ec2.CreateFleetInput) { f.cloud.SetQuota("on-demand", 3) },
			want:    []string{"1 m5.large eu-west-1a on-demand", "VcpuLimitExceeded m5.large"},
		},
		"spot quota": {
			count: 1, capacityType: spot, types: []string{"m5.large"}, zones: "a",
			prepare: func(f *fixture, _ *ec2.CreateFleetInput) { f.cloud.SetQuota("spot", 1) },
			want:    []string{"MaxSpotInstanceCountExceeded m5.large"},
		},
		"a fault of one offering": {
			count: 1, capacityType: onDemand, types: []string{"m5.large"}, zones: "ab",
			prepare: func(f *fixture, _ *ec2.CreateFleetInput) {
				f.cloud.Inject(account.Fault{InstanceType: "m5.large", Zone: "eu-west-1a", Code: "InternalError"})
			},
			want: []string{"1 m5.large eu-west-1b on-demand", "InternalError m5.large"},
		},
		"spot price above the maximum": {
			count: 1, capacityType: spot, types: []string{"m5.large"}, zones: "a",
			prepare: func(_ *fixture, in *ec2.CreateFleetInput) {
				in.LaunchTemplateConfigs[0].Overrides[0].MaxPrice = aws.String("0.01")
			},
			want: []string{"SpotMaxPriceTooLow m5.large"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			f.template(t, "nodes")
			in := f.fleet(t, tc.count, tc.capacityType, tc.types, tc.zones)
			if tc.prepare != nil {
				tc.prepare(f, in)
			}
			out := must2(f.ec2.CreateFleet(t.Context(), in))(t)
			if diff := cmp.Diff(tc.want, outcome(out)); diff != "" {
				t.Errorf("fleet (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCreateFleetRefusals(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	cases := map[string]struct {
		change func(*ec2.CreateFleetInput)
		want   string
	}{
		"unknown template": {func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("gone")
		}, "InvalidLaunchTemplateName.NotFoundException"},
		"unknown version": {func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.Version = aws.String("9")
		}, "InvalidLaunchTemplateId.VersionNotFound"},
		"no capacity asked for": {func(in *ec2.CreateFleetInput) { in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(0) }, "InvalidParameterValue"},
		"a fleet that stays":    {func(in *ec2.CreateFleetInput) { in.Type = types.FleetTypeMaintain }, "UnsupportedOperation"},
		"too many overrides": {func(in *ec2.CreateFleetInput) {
			in.LaunchTemplateConfigs[0].Overrides = slices.Repeat(in.LaunchTemplateConfigs[0].Overrides, 301)
		}, "InvalidParameterValue"},
		"tags of network interfaces": {func(in *ec2.CreateFleetInput) {
			in.TagSpecifications[0].ResourceType = types.ResourceTypeNetworkInterface
		}, "InvalidParameterValue"},
		"reserved tag": {func(in *ec2.CreateFleetInput) { in.TagSpecifications[0].Tags[0].Key = aws.String("aws:x") }, "InvalidParameterValue"},
		"dry run":      {func(in *ec2.CreateFleetInput) { in.DryRun = aws.Bool(true) }, "DryRunOperation"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := f.fleet(t, 1, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")
			tc.change(in)
			_, err := f.ec2.CreateFleet(t.Context(), in)
			wantCode(t, err, tc.want)
		})
	}
	if got := len(f.cloud.Instances()); got != 0 {
		t.Errorf("%d instances were launched by refused requests", got)
	}
}

func TestCreateFleetClientToken(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	in := f.fleet(t, 2, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")
	in.ClientToken = aws.String("once")
	first := must2(f.ec2.CreateFleet(t.Context(), in))(t)
	again := must2(f.ec2.CreateFleet(t.Context(), in))(t)
	if diff := cmp.Diff(ec2model.InstancesOf(first), ec2model.InstancesOf(again)); diff != "" || len(f.cloud.Instances()) != 2 {
		t.Errorf("the same token launched %d instances, answers differ (-first +again):\n%s", len(f.cloud.Instances()), diff)
	}
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(3)
	_, err := f.ec2.CreateFleet(t.Context(), in)
	wantCode(t, err, "IdempotentParameterMismatch")
}

func TestInstanceLife(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	var heard []string
	cancel := f.cloud.Subscribe(func(e ec2model.Event) { heard = append(heard, string(e.Kind)+" "+e.Instance.State) })
	out := must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "b")))(t)
	id := out.Instances[0].InstanceIds[0]

	state := func() types.InstanceStateName {
		t.Helper()
		got := must2(f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))(t)
		return got.Reservations[0].Instances[0].State.Name
	}
	if got := state(); got != types.InstanceStateNamePending {
		t.Fatalf("state after launch = %s", got)
	}
	f.clock.Step(time.Second)
	if got := state(); got != types.InstanceStateNameRunning {
		t.Fatalf("state after the pending delay = %s", got)
	}
	f.clock.Step(time.Hour)
	ended := must2(f.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}}))(t)
	change := ended.TerminatingInstances[0]
	if change.PreviousState.Name != types.InstanceStateNameRunning || change.CurrentState.Name != types.InstanceStateNameShuttingDown {
		t.Errorf("termination went from %s to %s", change.PreviousState.Name, change.CurrentState.Name)
	}
	f.clock.Step(2 * time.Second)
	if got := state(); got != types.InstanceStateNameTerminated {
		t.Fatalf("state after the shutdown delay = %s", got)
	}
	cancel()
	if diff := cmp.Diff([]string{"Launched pending", "Stopping shutting-down", "Terminated terminated"}, heard); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	ledger := f.cloud.Ledger()
	f.clock.Step(2 * time.Hour)
	_, err := f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	if diff := cmp.Diff(ledger, f.cloud.Ledger()); diff != "" || ledger.Running != 0 || ledger.Launched != 1 || ledger.InstanceHours < 1 || ledger.InstanceHours > 1.001 {
		t.Errorf("ledger = %+v; it changed when the instance was forgotten:\n%s", ledger, diff)
	}
}

func TestLaunchedInstance(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	subnet := f.subnetIn(t, "a")
	must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 2, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")))(t)
	got := f.cloud.Instances()[0]
	if got.Type != "m5.large" || got.Zone != "eu-west-1a" || got.CapacityType != "spot" || string(got.UserData) != "#!/bin/sh\n" ||
		got.InstanceProfile != "packhorse-node" || got.Tags["pool"] != "default" || got.SubnetID != subnet || got.PriceMicros <= 0 {
		t.Errorf("instance = %+v", got)
	}
	described := must2(f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{
		Filters: []types.Filter{filter("tag:pool", "default"), filter("instance-state-name", "pending", "running"), filter("instance-lifecycle", "spot")}, MaxResults: aws.Int32(5),
	}))(t)
	if len(described.Reservations) != 2 {
		t.Fatalf("filters found %d instances, want 2", len(described.Reservations))
	}
	i := described.Reservations[0].Instances[0]
	if *i.InstanceId != got.ID || *i.PrivateDnsName != got.PrivateDNSName || *i.IamInstanceProfile.Arn != "arn:aws:iam::123456789012:instance-profile/packhorse-node" ||
		len(i.SecurityGroups) != 1 || i.MetadataOptions.HttpTokens != types.HttpTokensStateRequired || !hasPrefix(i.PrivateDnsName, "ip-10-0-32-") {
		t.Errorf("described instance = %+v", i)
	}
	free := must2(f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{subnet}}))(t)
	if n := *free.Subnets[0].AvailableIpAddressCount; n != 8185 {
		t.Errorf("free addresses = %d, want 8187 less the two instances", n)
	}
	_, err := f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-xyz"}})
	wantCode(t, err, "InvalidInstanceID.Malformed")
	_, err = f.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{"i-00000000000000000"}})
	wantCode(t, err, "InvalidInstanceID.NotFound")
}

func TestReadLag(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	f.cloud.SetBehaviour(account.Behaviour{PendingDelay: time.Second, ShuttingDownDelay: time.Second, TerminatedVisible: time.Minute, ReadLag: 3 * time.Second})
	out := must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")))(t)
	ids := ec2model.InstancesOf(out)
	_, err := f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids})
	wantCode(t, err, "InvalidInstanceID.NotFound")
	f.clock.Step(3 * time.Second)
	_, err = f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: ids})
	wantCode(t, err, "")
}

func TestTimersMoveInstances(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	f.cloud.SetBehaviour(account.Behaviour{PendingDelay: time.Hour, ShuttingDownDelay: 0, TerminatedVisible: time.Hour})
	ended := make(chan ec2model.Event, 1)
	f.cloud.Subscribe(func(e ec2model.Event) {
		switch e.Kind {
		case ec2model.Launched:
			f.cloud.MarkRunning(e.Instance.ID) // a subscriber may call back
		case ec2model.Terminated:
			ended <- e
		}
	})
	out := must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")))(t)
	if got := f.cloud.Instances()[0].State; got != "running" {
		t.Errorf("state after MarkRunning = %s", got)
	}
	must2(f.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: ec2model.InstancesOf(out)}))(t)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("nobody asked, and the instance did not terminate by itself")
	}
}

func TestLaunchTemplates(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	found := must2(f.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filter("tag:owner", "test")}}))(t)
	if len(found.LaunchTemplates) != 1 || *found.LaunchTemplates[0].LaunchTemplateName != "nodes" {
		t.Fatalf("templates = %+v", found.LaunchTemplates)
	}
	versions := must2(f.ec2.DescribeLaunchTemplateVersions(t.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: aws.String("nodes"), Versions: []string{"$Latest"}}))(t)
	data := versions.LaunchTemplateVersions[0].LaunchTemplateData
	if *data.BlockDeviceMappings[0].Ebs.VolumeSize != 30 || *data.IamInstanceProfile.Name != "packhorse-node" || data.MetadataOptions.HttpTokens != "required" ||
		data.TagSpecifications[0].ResourceType != types.ResourceTypeNetworkInterface || *data.TagSpecifications[0].Tags[0].Key != "from" || len(data.SecurityGroupIds) != 1 {
		t.Errorf("template data = %+v", data)
	}
	_, err := f.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &types.RequestLaunchTemplateData{KeyName: aws.String("key")}})
	wantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
	_, err = f.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("other"), LaunchTemplateData: &types.RequestLaunchTemplateData{UserData: aws.String("%%%")}})
	wantCode(t, err, "InvalidUserData.Malformed")
	must2(f.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("nodes")}))(t)
	_, err = f.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("nodes")})
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
	_, err = f.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"nodes"}})
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
}

func TestRunInstancesAndTags(t *testing.T) {
	f := start(t)
	run := &ec2.RunInstancesInput{
		ImageId: aws.String(f.imageFor(t, "arm64")), InstanceType: "c7gd.large", SubnetId: aws.String(f.subnetIn(t, "a")), MinCount: aws.Int32(1), MaxCount: aws.Int32(2),
	}
	out := must2(f.ec2.RunInstances(t.Context(), run))(t)
	if len(out.Instances) != 2 {
		t.Fatalf("launched %d, want 2", len(out.Instances))
	}
	id := *out.Instances[0].InstanceId
	must2(f.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}}))(t)
	must2(f.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: aws.String("a")}, {Key: aws.String("b"), Value: aws.String("other")}}}))(t)
	tagged := must2(f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))(t)
	if tags := tagged.Reservations[0].Instances[0].Tags; len(tags) != 1 || *tags[0].Key != "b" {
		t.Errorf("tags = %+v", tags)
	}
	_, err := f.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{"i-00000000000000000"}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}}})
	wantCode(t, err, "InvalidInstanceID.NotFound")

	f.cloud.SetCapacity("*", "*", "*", 1)
	run.MinCount = aws.Int32(2)
	_, err = f.ec2.RunInstances(t.Context(), run)
	wantCode(t, err, "InsufficientInstanceCapacity")
	run.ImageId = aws.String("ami-0")
	_, err = f.ec2.RunInstances(t.Context(), run)
	wantCode(t, err, "InvalidAMIID.NotFound")
}

func TestUnknownFiltersAreErrorsInAnEmptyAccount(t *testing.T) {
	f := start(t)
	_, err := f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{filter("instance-state", "running")}})
	wantCode(t, err, "InvalidParameterValue")
	_, err = f.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{filter("name", "x")}})
	wantCode(t, err, "InvalidParameterValue")
	_, err = f.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{Filters: []types.Filter{filter("tag:none", "x")}})
	wantCode(t, err, "")
}

// The answer to a purchase of a slow offering is late, though the machine is there.
func TestSlowOffering(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	f.cloud.Inject(account.Fault{Zone: "eu-west-1b", Latency: 200 * time.Millisecond})
	for zone, late := range map[string]bool{"a": false, "b": true} {
		began := time.Now()
		must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, zone)))(t)
		if took := time.Since(began); late && took < 200*time.Millisecond {
			t.Errorf("the answer for zone %s came after %s", zone, took)
		}
	}
	if n := len(f.cloud.Instances()); n != 2 {
		t.Errorf("%d instances, want 2", n)
	}
}
