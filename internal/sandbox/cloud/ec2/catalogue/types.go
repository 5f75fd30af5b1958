package catalogue

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/account"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/cloud/ec2/resource"
)

func (c *Catalogue) describeInstanceTypes(_ *account.Caller, in *ec2.DescribeInstanceTypesInput) (*ec2.DescribeInstanceTypesOutput, error) {
	if len(in.InstanceTypes) > 100 {
		return nil, account.Fail("InvalidParameterValue", "The maximum number of instance types that can be specified is 100")
	}
	if in.MaxResults != nil && len(in.InstanceTypes) > 0 {
		return nil, account.Fail("InvalidParameterCombination", "The parameter InstanceTypes cannot be used with the parameter MaxResults")
	}
	if in.MaxResults != nil && (*in.MaxResults < 5 || *in.MaxResults > 100) {
		return nil, account.Fail("InvalidParameterValue", "Value ( %d ) for parameter maxResults is invalid. Expecting a value between 5 and 100.", *in.MaxResults)
	}
	candidates := c.Sorted
	if len(in.InstanceTypes) > 0 {
		candidates = nil
		for _, name := range in.InstanceTypes {
			t, ok := c.types[string(name)]
			if !ok {
				return nil, account.Fail("InvalidInstanceType", "The following supplied instance types do not exist: [%s]", name)
			}
			candidates = append(candidates, t)
		}
	}
	kept, err := resource.Selected(candidates, in.Filters, typeAttributes)
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 100)
	if err != nil {
		return nil, err
	}
	out := &ec2.DescribeInstanceTypesOutput{NextToken: next, InstanceTypes: []types.InstanceTypeInfo{}}
	for _, t := range part {
		out.InstanceTypes = append(out.InstanceTypes, typeInfo(t))
	}
	return out, nil
}

func typeAttributes(t *Type) resource.Attributes {
	return resource.Attributes{
		"instance-type":                                {t.Name},
		"supported-usage-class":                        t.usageClasses,
		"supported-virtualization-type":                {"hvm"},
		"supported-root-device-type":                   {"ebs"},
		"processor-info.supported-architecture":        t.Arches,
		"processor-info.manufacturer":                  {manufacturerName(t.cpuManufacturer)},
		"current-generation":                           resource.Bool(t.CurrentGeneration),
		"bare-metal":                                   resource.Bool(t.bareMetal),
		"burstable-performance-supported":              resource.Bool(t.burstable),
		"hypervisor":                                   {t.hypervisor},
		"instance-storage-supported":                   resource.Bool(t.localNVMeGB > 0),
		"vcpu-info.default-vcpus":                      {strconv.Itoa(int(t.VCPUs))},
		"memory-info.size-in-mib":                      {strconv.FormatInt(t.MemoryMiB, 10)},
		"network-info.efa-supported":                   resource.Bool(t.EFAInterfaces > 0),
		"network-info.encryption-in-transit-supported": resource.Bool(t.encryptionInTransit),
	}
}

func manufacturerName(short string) string {
	switch short {
	case "intel":
		return "Intel"
	case "amd":
		return "AMD"
	case "aws":
		return "AWS"
	case "apple":
		return "Apple"
	}
	return short
}

func typeInfo(t *Type) types.InstanceTypeInfo {
	info := types.InstanceTypeInfo{
		InstanceType:                  types.InstanceType(t.Name),
		BareMetal:                     aws.Bool(t.bareMetal),
		BurstablePerformanceSupported: aws.Bool(t.burstable),
		CurrentGeneration:             aws.Bool(t.CurrentGeneration),
		FreeTierEligible:              aws.Bool(t.Name == "t3.micro"),
		Hypervisor:                    types.InstanceTypeHypervisor(t.hypervisor),
		InstanceStorageSupported:      aws.Bool(t.localNVMeGB > 0),
		MemoryInfo:                    &types.MemoryInfo{SizeInMiB: aws.Int64(t.MemoryMiB)},
		VCpuInfo:                      &types.VCpuInfo{DefaultVCpus: aws.Int32(t.VCPUs)},
		ProcessorInfo:                 &types.ProcessorInfo{Manufacturer: aws.String(manufacturerName(t.cpuManufacturer))},
		SupportedRootDeviceTypes:      []types.RootDeviceType{types.RootDeviceTypeEbs},
		SupportedVirtualizationTypes:  []types.VirtualizationType{types.VirtualizationTypeHvm},
		NetworkInfo:                   networkInfo(t),
		EbsInfo: &types.EbsInfo{
			EbsOptimizedSupport: types.EbsOptimizedSupportDefault,
			EncryptionSupport:   types.EbsEncryptionSupportSupported,
			EbsOptimizedInfo:    &types.EbsOptimizedInfo{MaximumBandwidthInMbps: aws.Int32(t.ebsMbps), BaselineBandwidthInMbps: aws.Int32(t.ebsMbps)},
		},
	}
	for _, arch := range t.Arches {
		info.ProcessorInfo.SupportedArchitectures = append(info.ProcessorInfo.SupportedArchitectures, types.ArchitectureType(arch))
	}
	for _, class := range t.usageClasses {
		info.SupportedUsageClasses = append(info.SupportedUsageClasses, types.UsageClassType(class))
	}
	if t.localNVMeGB > 0 {
		info.InstanceStorageInfo = &types.InstanceStorageInfo{
			TotalSizeInGB: aws.Int64(t.localNVMeGB),
			NvmeSupport:   types.EphemeralNvmeSupportRequired,
			Disks:         []types.DiskInfo{{Count: aws.Int32(1), SizeInGB: aws.Int64(t.localNVMeGB), Type: types.DiskTypeSsd}},
		}
	}
	addDevices(&info, t)
	return info
}

// addDevices fills in GPUs and accelerators; Inferentia and Trainium appear
// both as Neuron devices and, Inferentia only, as inference accelerators.
func addDevices(info *types.InstanceTypeInfo, t *Type) {
	if t.gpu.count > 0 {
		info.GpuInfo = &types.GpuInfo{
			TotalGpuMemoryInMiB: aws.Int32(t.gpu.count * t.gpu.memoryMiB),
			Gpus: []types.GpuDeviceInfo{{
				Count: aws.Int32(t.gpu.count), Name: aws.String(t.gpu.name), Manufacturer: aws.String(t.gpu.manufacturer),
				MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: aws.Int32(t.gpu.memoryMiB)},
			}},
		}
	}
	if t.accelerator.count == 0 {
		return
	}
	if t.accelerator.manufacturer == "AWS" {
		info.NeuronInfo = &types.NeuronInfo{NeuronDevices: []types.NeuronDeviceInfo{{
			Count: aws.Int32(t.accelerator.count), Name: aws.String(t.accelerator.name),
		}}}
	}
	if !isTrainium(t.accelerator.name) {
		info.InferenceAcceleratorInfo = &types.InferenceAcceleratorInfo{Accelerators: []types.InferenceDeviceInfo{{
			Count: aws.Int32(t.accelerator.count), Name: aws.String(t.accelerator.name), Manufacturer: aws.String(t.accelerator.manufacturer),
		}}}
	}
}

func isTrainium(name string) bool { return len(name) >= 8 && name[:8] == "Trainium" }

func networkInfo(t *Type) *types.NetworkInfo {
	info := &types.NetworkInfo{
		DefaultNetworkCardIndex:      aws.Int32(0),
		EfaSupported:                 aws.Bool(t.EFAInterfaces > 0),
		EnaSupport:                   types.EnaSupportRequired,
		EncryptionInTransitSupported: aws.Bool(t.encryptionInTransit),
		Ipv4AddressesPerInterface:    aws.Int32(t.ipv4PerENI),
		Ipv6AddressesPerInterface:    aws.Int32(t.ipv4PerENI),
		Ipv6Supported:                aws.Bool(true),
		MaximumNetworkInterfaces:     aws.Int32(t.enis),
		NetworkPerformance:           aws.String(gigabits(t.networkMbps)),
	}
	if t.EFAInterfaces > 0 {
		info.EfaInfo = &types.EfaInfo{MaximumEfaInterfaces: aws.Int32(t.EFAInterfaces)}
	}
	info.NetworkCards = networkCards(t)
	info.MaximumNetworkCards = aws.Int32(int32(len(info.NetworkCards)))
	return info
}

// networkCards spreads the interfaces over as many equal cards as they fill.
func networkCards(t *Type) []types.NetworkCardInfo {
	count := int32(1)
	if t.enisOfFirstCard > 0 {
		count = max(1, t.enis/t.enisOfFirstCard)
	}
	var cards []types.NetworkCardInfo
	for i := range count {
		bandwidth := float64(t.networkMbps/count) / 1000
		cards = append(cards, types.NetworkCardInfo{
			NetworkCardIndex:         aws.Int32(i),
			MaximumNetworkInterfaces: aws.Int32(t.enis / count),
			NetworkPerformance:       aws.String(gigabits(t.networkMbps / count)),
			BaselineBandwidthInGbps:  aws.Float64(bandwidth),
			PeakBandwidthInGbps:      aws.Float64(bandwidth),
		})
	}
	return cards
}

func gigabits(mbps int32) string {
	return strconv.FormatFloat(float64(mbps)/1000, 'f', -1, 64) + " Gigabit"
}

func (c *Catalogue) describeInstanceTypeOfferings(_ *account.Caller, in *ec2.DescribeInstanceTypeOfferingsInput) (*ec2.DescribeInstanceTypeOfferingsOutput, error) {
	places, err := c.offeringPlaces(in.LocationType)
	if err != nil {
		return nil, err
	}
	locationType := in.LocationType
	if locationType == "" {
		locationType = types.LocationTypeRegion
	}
	var offerings []types.InstanceTypeOffering
	for _, t := range c.Sorted {
		for _, place := range places(t) {
			offerings = append(offerings, types.InstanceTypeOffering{InstanceType: types.InstanceType(t.Name), Location: &place, LocationType: locationType})
		}
	}
	kept, err := resource.Selected(offerings, in.Filters, func(o types.InstanceTypeOffering) resource.Attributes {
		return resource.Attributes{"instance-type": {string(o.InstanceType)}, "location": {*o.Location}}
	})
	if err != nil {
		return nil, err
	}
	part, next, err := account.Page(kept, in.NextToken, in.MaxResults, 1000)
	return &ec2.DescribeInstanceTypeOfferingsOutput{InstanceTypeOfferings: part, NextToken: next}, err
}

func (c *Catalogue) offeringPlaces(by types.LocationType) (func(*Type) []string, error) {
	switch by {
	case "", types.LocationTypeRegion:
		return func(*Type) []string { return []string{c.Region} }, nil
	case types.LocationTypeAvailabilityZone:
		return func(t *Type) []string { return t.Zones }, nil
	case types.LocationTypeAvailabilityZoneId:
		return func(t *Type) []string {
			ids := make([]string, len(t.Zones))
			for i, zone := range t.Zones {
				ids[i] = account.ZoneID(zone)
			}
			return ids
		}, nil
	}
	return nil, account.Fail("InvalidParameterValue", "Invalid location type: %s", by)
}
