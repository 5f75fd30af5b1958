package stock

import (
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// hardwareOf translates EC2's description of an instance type. The number of branch
// interfaces, which EC2 does not report, comes from the embedded table.
func hardwareOf(t *types.InstanceTypeInfo) offer.Hardware {
	name := string(t.InstanceType)
	family, category, generation, size := offer.SplitName(name)
	h := offer.Hardware{
		Name: name, Family: family, Category: category, Generation: generation, Size: size,
		Hypervisor:  string(t.Hypervisor),
		BareMetal:   awssdk.ToBool(t.BareMetal),
		Burstable:   awssdk.ToBool(t.BurstablePerformanceSupported),
		GPU:         gpuOf(t),
		Accelerator: acceleratorOf(t),
	}
	if t.VCpuInfo != nil {
		h.VCPUs = int64(awssdk.ToInt32(t.VCpuInfo.DefaultVCpus))
	}
	if t.MemoryInfo != nil {
		h.MemoryMiB = awssdk.ToInt64(t.MemoryInfo.SizeInMiB)
	}
	if p := t.ProcessorInfo; p != nil {
		h.CPUManufacturer = strings.ToLower(awssdk.ToString(p.Manufacturer))
		names := make([]string, len(p.SupportedArchitectures))
		for i, arch := range p.SupportedArchitectures {
			names[i] = string(arch)
		}
		h.Arch = offer.KubernetesArch(names...)
	}
	if s := t.InstanceStorageInfo; s != nil && s.NvmeSupport != types.EphemeralNvmeSupportUnsupported {
		h.LocalNVMeGB = awssdk.ToInt64(s.TotalSizeInGB)
	}
	if e := t.EbsInfo; e != nil && e.EbsOptimizedInfo != nil {
		h.EBSMbps = int64(awssdk.ToInt32(e.EbsOptimizedInfo.MaximumBandwidthInMbps))
	}
	for _, class := range t.SupportedUsageClasses {
		h.AddUsageClass(string(class))
	}
	if known, ok := offer.Embedded().Find(name); ok {
		h.BranchInterfaces = known.BranchInterfaces
	}
	addNetwork(&h, t.NetworkInfo)
	return h
}

func addNetwork(h *offer.Hardware, n *types.NetworkInfo) {
	if n == nil {
		return
	}
	h.EncryptionInTransit = awssdk.ToBool(n.EncryptionInTransitSupported)
	h.ENIs = int64(awssdk.ToInt32(n.MaximumNetworkInterfaces))
	h.IPv4PerENI = int64(awssdk.ToInt32(n.Ipv4AddressesPerInterface))
	if n.EfaInfo != nil {
		h.EFAs = int64(awssdk.ToInt32(n.EfaInfo.MaximumEfaInterfaces))
	}
	gigabits := 0.0
	for _, card := range n.NetworkCards {
		gigabits += awssdk.ToFloat64(card.BaselineBandwidthInGbps)
		if awssdk.ToInt32(card.NetworkCardIndex) == awssdk.ToInt32(n.DefaultNetworkCardIndex) {
			h.DefaultCardENIs = int64(awssdk.ToInt32(card.MaximumNetworkInterfaces))
			h.NoEFAOnDefaultCard = h.EFAs > 0 && len(card.InterfaceTypes) > 0 && !slices.Contains(card.InterfaceTypes, types.NetworkCardInterfaceTypeEfa)
		}
	}
	h.NetworkMbps = int64(gigabits*1000 + 0.5)
}

func gpuOf(t *types.InstanceTypeInfo) *offer.Accelerator {
	if t.GpuInfo == nil || len(t.GpuInfo.Gpus) == 0 {
		return nil
	}
	g := t.GpuInfo.Gpus[0]
	out := &offer.Accelerator{
		Name:         awssdk.ToString(g.Name),
		Manufacturer: awssdk.ToString(g.Manufacturer),
		Count:        int64(awssdk.ToInt32(g.Count)),
	}
	if g.MemoryInfo != nil {
		out.MemoryMiB = int64(awssdk.ToInt32(g.MemoryInfo.SizeInMiB))
	}
	return out
}

// acceleratorOf prefers EC2's list of Neuron devices, which includes Trainium.
func acceleratorOf(t *types.InstanceTypeInfo) *offer.Accelerator {
	if n := t.NeuronInfo; n != nil && len(n.NeuronDevices) > 0 {
		d := n.NeuronDevices[0]
		out := &offer.Accelerator{Name: awssdk.ToString(d.Name), Manufacturer: "AWS", Count: int64(awssdk.ToInt32(d.Count))}
		if d.CoreInfo != nil {
			out.Cores = int64(awssdk.ToInt32(d.CoreInfo.Count))
		}
		return out
	}
	if a := t.InferenceAcceleratorInfo; a != nil && len(a.Accelerators) > 0 {
		d := a.Accelerators[0]
		return &offer.Accelerator{
			Name: awssdk.ToString(d.Name), Manufacturer: awssdk.ToString(d.Manufacturer), Count: int64(awssdk.ToInt32(d.Count)),
		}
	}
	return nil
}
