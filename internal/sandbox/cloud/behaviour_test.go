package cloud

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
)

// change sets part of how the account behaves.
func (f *fixture) change(alter func(*account.Behaviour)) {
	b := f.cloud.Behaviour()
	alter(&b)
	f.cloud.SetBehaviour(b)
}

// spotPrices returns the history of one type in one zone, as it is told.
func (f *fixture) spotPrices(t *testing.T, start *time.Time) []string {
	t.Helper()
	out := must2(f.ec2.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{
		InstanceTypes: []types.InstanceType{"m5.large"}, AvailabilityZone: aws.String("eu-west-1a"),
		ProductDescriptions: []string{"Linux/UNIX"}, StartTime: start,
	}))(t)
	var lines []string
	for _, p := range out.SpotPriceHistory {
		lines = append(lines, p.Timestamp.Format("15:04 ")+*p.SpotPrice)
	}
	return lines
}

func TestSpotPricesMoveFromHourToHour(t *testing.T) {
	f := start(t)
	now := f.clock.Now()
	if got := f.spotPrices(t, &now); len(got) != 1 {
		t.Fatalf("prices that stand still = %v", got)
	}
	f.change(func(b *account.Behaviour) { b.SpotVolatility = 0.2 })
	f.clock.Step(30 * time.Minute)
	now = f.clock.Now()
	first := f.spotPrices(t, &now)
	f.clock.Step(time.Hour)
	now = f.clock.Now()
	second := f.spotPrices(t, &now)
	if len(first) != 1 || len(second) != 1 || first[0][6:] == second[0][6:] || first[0][:5] != "10:00" || second[0][:5] != "11:00" {
		t.Errorf("prices of two hours = %v, %v", first, second)
	}
	since := now.Add(-time.Hour)
	if diff := cmp.Diff(append(second, first...), f.spotPrices(t, &since)); diff != "" {
		t.Errorf("history of an hour (-want +got):\n%s", diff)
	}
}

func TestDrainedPoolsComeBack(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	f.cloud.DrainPools("m5.large", "*", "spot", 10*time.Minute)
	buy := func() []string {
		return outcome(must2(f.ec2.CreateFleet(t.Context(), f.fleet(t, 1, types.DefaultTargetCapacityTypeSpot, []string{"m5.large"}, "a")))(t))
	}
	if diff := cmp.Diff([]string{"InsufficientInstanceCapacity m5.large"}, buy()); diff != "" {
		t.Errorf("a drained pool (-want +got):\n%s", diff)
	}
	f.clock.Step(10 * time.Minute)
	if diff := cmp.Diff([]string{"1 m5.large eu-west-1a spot"}, buy()); diff != "" {
		t.Errorf("the pool afterwards (-want +got):\n%s", diff)
	}
}

func TestPoliciesCountLate(t *testing.T) {
	f, ctx := start(t), t.Context()
	arn := f.role(t, "late", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"123456789012"},"Action":"sts:AssumeRole"}]}`,
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:DescribeSecurityGroups","Resource":"*"}]}`)
	late := f.as(t, arn)
	f.change(func(b *account.Behaviour) { b.IAMLag = 5 * time.Second })
	f.clock.Step(5 * time.Second)
	must2(f.iam.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
		RoleName: aws.String("late"), PolicyName: aws.String("more"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"ec2:DescribeSubnets","Resource":"*"}]}`),
	}))(t)
	_, err := late.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	wantCode(t, err, "UnauthorizedOperation")
	f.clock.Step(5 * time.Second)
	_, err = late.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{})
	wantCode(t, err, "")
}

func TestEC2HearsOfInstanceProfilesLate(t *testing.T) {
	f, ctx := start(t), t.Context()
	must2(f.iam.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: aws.String("late")}))(t)
	f.clock.Step(time.Minute)
	f.change(func(b *account.Behaviour) { b.IAMLag = 5 * time.Second })
	must2(f.iam.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("late"), RoleName: aws.String("packhorse-node")}))(t)
	f.templateWith(t, "nodes", "late")
	buy := func() []string {
		return outcome(must2(f.ec2.CreateFleet(ctx, f.fleet(t, 1, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")))(t))
	}
	if diff := cmp.Diff([]string{"InvalidParameterValue m5.large"}, buy()); diff != "" {
		t.Errorf("at once (-want +got):\n%s", diff)
	}
	f.clock.Step(5 * time.Second)
	if diff := cmp.Diff([]string{"1 m5.large eu-west-1a on-demand"}, buy()); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}

func TestNetworkInterfacesOfTemplates(t *testing.T) {
	f, ctx := start(t), t.Context()
	create := func(data *types.RequestLaunchTemplateData) error {
		_, err := f.ec2.CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: data})
		return err
	}
	efa := []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{InterfaceType: aws.String("efa"), Groups: nil}}
	wantCode(t, create(&types.RequestLaunchTemplateData{SecurityGroupIds: []string{"sg-1"}, NetworkInterfaces: efa}), "InvalidParameterCombination")
	wantCode(t, create(&types.RequestLaunchTemplateData{ImageId: aws.String(f.imageFor(t, "x86_64")), NetworkInterfaces: efa}), "")
	got := outcome(must2(f.ec2.CreateFleet(ctx, f.fleet(t, 1, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")))(t))
	if diff := cmp.Diff([]string{"InvalidParameterCombination m5.large"}, got); diff != "" {
		t.Errorf("adapters on a type that has none (-want +got):\n%s", diff)
	}
}

func TestTagsInMetadataHaveNoSlash(t *testing.T) {
	f := start(t)
	f.template(t, "nodes")
	f.change(func(b *account.Behaviour) { b.MetadataTags = true })
	for key, want := range map[string]string{"example.com:pool": "1 m5.large eu-west-1a on-demand", "example.com/pool": "InvalidParameterValue m5.large"} {
		in := f.fleet(t, 1, types.DefaultTargetCapacityTypeOnDemand, []string{"m5.large"}, "a")
		in.TagSpecifications = []types.TagSpecification{{ResourceType: types.ResourceTypeInstance, Tags: []types.Tag{{Key: &key, Value: aws.String("default")}}}}
		if diff := cmp.Diff([]string{want}, outcome(must2(f.ec2.CreateFleet(t.Context(), in))(t))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}
