package cloud

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

func TestDescribeInstanceTypes(t *testing.T) {
	f := start(t)
	names := func(in *ec2.DescribeInstanceTypesInput) []string {
		t.Helper()
		var got []string
		for pages := ec2.NewDescribeInstanceTypesPaginator(f.ec2, in); pages.HasMorePages(); {
			for _, info := range must2(pages.NextPage(t.Context()))(t).InstanceTypes {
				got = append(got, string(info.InstanceType))
			}
		}
		return got
	}
	cases := map[string]struct {
		in   *ec2.DescribeInstanceTypesInput
		want []string
	}{
		"all types of the region, in pages": {
			in:   &ec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(5)},
			want: []string{"c7gd.large", "g4dn.xlarge", "inf2.xlarge", "m5.large", "m5.metal", "m5.xlarge"},
		},
		"by name": {
			in:   &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.large"}},
			want: []string{"m5.large"},
		},
		"by architecture": {
			in:   &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{filter("processor-info.supported-architecture", "arm64")}},
			want: []string{"c7gd.large"},
		},
		"by usage class and a wildcard": {
			in:   &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{filter("supported-usage-class", "spot"), filter("instance-type", "m5.*")}},
			want: []string{"m5.large", "m5.xlarge"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, names(tc.in)); diff != "" {
				t.Errorf("instance types (-want +got):\n%s", diff)
			}
		})
	}

	_, err := f.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m9.huge"}})
	wantCode(t, err, "InvalidInstanceType")
	_, err = f.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{Filters: []types.Filter{filter("colour", "red")}})
	wantCode(t, err, "InvalidParameterValue")
	_, err = f.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{NextToken: aws.String("nonsense")})
	wantCode(t, err, "InvalidNextToken")
}

func TestInstanceTypeDetails(t *testing.T) {
	f := start(t)
	out := must2(f.ec2.DescribeInstanceTypes(t.Context(), &ec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"g4dn.xlarge", "inf2.xlarge", "m5.metal"}}))(t)
	gpu, neuron, metal := out.InstanceTypes[0], out.InstanceTypes[1], out.InstanceTypes[2]
	if got := *gpu.GpuInfo.Gpus[0].Name + *gpu.GpuInfo.Gpus[0].Manufacturer; got != "T4NVIDIA" || *gpu.GpuInfo.TotalGpuMemoryInMiB != 16384 {
		t.Errorf("GPU = %s with %d MiB", got, *gpu.GpuInfo.TotalGpuMemoryInMiB)
	}
	if *gpu.InstanceStorageInfo.TotalSizeInGB != 125 || *gpu.NetworkInfo.Ipv4AddressesPerInterface != 10 || *gpu.NetworkInfo.MaximumNetworkInterfaces != 3 {
		t.Errorf("storage and network = %+v, %+v", gpu.InstanceStorageInfo, gpu.NetworkInfo)
	}
	if d := neuron.NeuronInfo.NeuronDevices[0]; *d.Name != "Inferentia2" || *d.Count != 1 {
		t.Errorf("neuron device = %+v", d)
	}
	if !*metal.BareMetal || metal.Hypervisor != "" || *metal.VCpuInfo.DefaultVCpus != 96 || *metal.MemoryInfo.SizeInMiB != 393216 {
		t.Errorf("metal = %+v", metal)
	}
}

func TestDescribeWorld(t *testing.T) {
	f := start(t)
	zones := must2(f.ec2.DescribeAvailabilityZones(t.Context(), &ec2.DescribeAvailabilityZonesInput{}))(t)
	var got []string
	for _, z := range zones.AvailabilityZones {
		got = append(got, *z.ZoneName+" "+*z.ZoneId)
	}
	if diff := cmp.Diff([]string{"eu-west-1a euw1-az1", "eu-west-1b euw1-az2", "eu-west-1c euw1-az3"}, got); diff != "" {
		t.Errorf("zones (-want +got):\n%s", diff)
	}
	subnets := must2(f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag:karpenter.sh/discovery", "*")}}))(t)
	if len(subnets.Subnets) != 3 || *subnets.Subnets[0].AvailableIpAddressCount != 8187 {
		t.Errorf("private subnets = %+v", subnets.Subnets)
	}
	all := must2(f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{}))(t)
	if len(all.Subnets) != 6 {
		t.Errorf("got %d subnets, want 6", len(all.Subnets))
	}
	groups := must2(f.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("tag:karpenter.sh/discovery", "prod")}}))(t)
	if len(groups.SecurityGroups) != 1 || *groups.SecurityGroups[0].GroupName != "node" {
		t.Errorf("node groups = %+v", groups.SecurityGroups)
	}
	_, err := f.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: []string{"subnet-1"}})
	wantCode(t, err, "InvalidSubnetID.NotFound")
	_, err = f.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-1"}})
	wantCode(t, err, "InvalidGroup.NotFound")
}

func TestOfferingsAndSpotPrices(t *testing.T) {
	f := start(t)
	offerings := must2(f.ec2.DescribeInstanceTypeOfferings(t.Context(), &ec2.DescribeInstanceTypeOfferingsInput{
		LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{filter("instance-type", "m5.xlarge", "m5.metal")},
	}))(t)
	var got []string
	for _, o := range offerings.InstanceTypeOfferings {
		got = append(got, string(o.InstanceType)+" "+*o.Location)
	}
	if diff := cmp.Diff([]string{"m5.metal eu-west-1a", "m5.xlarge eu-west-1a", "m5.xlarge eu-west-1b"}, got); diff != "" {
		t.Errorf("offerings (-want +got):\n%s", diff)
	}
	prices := must2(f.ec2.DescribeSpotPriceHistory(t.Context(), &ec2.DescribeSpotPriceHistoryInput{ProductDescriptions: []string{"Linux/UNIX"}}))(t)
	for _, p := range prices.SpotPriceHistory {
		if p.InstanceType == "m5.metal" {
			t.Error("a type that is not sold as spot has a spot price")
		}
		if p.InstanceType == "m5.large" && (*p.SpotPrice < "0.030000" || *p.SpotPrice > "0.040000") {
			t.Errorf("spot price of m5.large = %s, want about 34 %% of 0.107", *p.SpotPrice)
		}
	}
	if len(prices.SpotPriceHistory) != 14 {
		t.Errorf("got %d prices, want one per spot type and zone (14)", len(prices.SpotPriceHistory))
	}
}

func TestDescribeImages(t *testing.T) {
	f := start(t)
	id := f.imageFor(t, "arm64")
	byID := must2(f.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{id}}))(t)
	if len(byID.Images) != 1 || byID.Images[0].Architecture != types.ArchitectureValuesArm64 || !hasPrefix(byID.Images[0].Name, "amazon-eks-node-al2023-arm64-standard-1.33-v") {
		t.Errorf("image of the parameter = %+v", byID.Images)
	}
	byName := must2(f.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: []types.Filter{filter("name", "bottlerocket-aws-k8s-1.33-x86_64-*"), filter("architecture", "x86_64")},
	}))(t)
	if len(byName.Images) != 2 {
		t.Errorf("got %d Bottlerocket images, want the newest and the one before", len(byName.Images))
	}
	self := must2(f.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Owners: []string{"self"}}))(t)
	if len(self.Images) != 0 {
		t.Errorf("own images = %+v", self.Images)
	}
	_, err := f.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{"ami-00000000"}})
	wantCode(t, err, "InvalidAMIID.NotFound")
}

// An answer has a deprecated image of others only if the request names it or asks for all that
// are deprecated.
func TestDescribeDeprecatedImages(t *testing.T) {
	f := start(t)
	public, own := f.imageFor(t, "arm64"), f.cloud.AddImage("mine", "arm64", nil)
	for _, id := range []string{public, own} {
		f.cloud.DeprecateImage(id, f.clock.Now())
	}
	tests := map[string]struct {
		in   *ec2.DescribeImagesInput
		want int
	}{
		"a public image, by a filter":  {&ec2.DescribeImagesInput{Filters: []types.Filter{filter("image-id", public)}}, 0},
		"a public image, by its id":    {&ec2.DescribeImagesInput{ImageIds: []string{public}}, 1},
		"a public image, with all":     {&ec2.DescribeImagesInput{Filters: []types.Filter{filter("image-id", public)}, IncludeDeprecated: aws.Bool(true)}, 1},
		"an image of the own account":  {&ec2.DescribeImagesInput{Owners: []string{"self"}}, 1},
		"public ones that are current": {&ec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{filter("name", "bottlerocket-aws-k8s-1.33-x86_64-*")}}, 2},
	}
	for name, tt := range tests {
		found := must2(f.ec2.DescribeImages(t.Context(), tt.in))(t).Images
		if len(found) != tt.want {
			t.Errorf("%s: got %d images, want %d", name, len(found), tt.want)
		}
		for _, im := range found {
			if im.DeprecationTime == nil {
				t.Errorf("%s: %s has no deprecation time", name, *im.ImageId)
			}
		}
	}
}
