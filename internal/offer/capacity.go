package offer

import (
	"cmp"
	"math"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Extended resources of machines, as their device plugins name them.
const (
	resourceNvidiaGPU  = "nvidia.com/gpu"
	resourceAMDGPU     = "amd.com/gpu"
	resourceGaudi      = "habana.ai/gaudi"
	resourceNeuron     = "aws.amazon.com/neuron"
	resourceNeuronCore = "aws.amazon.com/neuroncore"
	resourcePodENI     = "vpc.amazonaws.com/pod-eni"
	resourceEFA        = "vpc.amazonaws.com/efa"
	resourceIPv4       = "vpc.amazonaws.com/PrivateIPv4Address" // which EKS adds to the requests of Windows pods
)

// OptionOf names the option of the agent without which no machine offers the resource; empty for other resources.
func OptionOf(resource string) string {
	switch resource {
	case resourcePodENI:
		return "pod-eni"
	case resourceEFA:
		return "efa"
	}
	return ""
}

const (
	mebibyte = int64(1) << 20
	gibibyte = int64(1) << 30

	// armFirmwareMemory is what the firmware of arm64 machines keeps.
	armFirmwareMemory = 64 * mebibyte

	xen = "xen" // the hypervisor of machines before Nitro

	uniformPods   = 110 // also the recommended most for small machines with prefix delegation
	largePods     = 250 // the recommended most for machines with more than smallVCPUs
	smallVCPUs    = 30
	prefixSize    = 16
	hostNetworked = 2 // kube-proxy and the network plugin use the host's address
)

// memory is the capacity that a kubelet will report: nominal memory less what
// firmware and hypervisor keep, in bytes.
func (s *sizer) memory(h *Hardware) int64 {
	nominal := h.MemoryMiB * mebibyte
	if h.Arch == "arm64" {
		nominal -= armFirmwareMemory
	}
	return max(nominal-int64(math.Ceil(float64(nominal)*s.memoryPercent/100)), 0)
}

// Pods returns how many pods a machine can hold under the settings: the
// kubelet's max-pods.
func (s Settings) Pods(h *Hardware) int64 {
	if s.AMIFamily == "" {
		s.AMIFamily = api.FamilyAL2023
	}
	return newSizer(s).pods(h)
}

func (s *sizer) pods(h *Hardware) int64 {
	var pods int64
	switch {
	case s.Kubelet.MaxPods != nil:
		pods = int64(*s.Kubelet.MaxPods)
	case s.family.uniformDensity || s.IgnoreENIs:
		pods = uniformPods
	default:
		pods = s.eniPods(h)
	}
	if perCore := s.Kubelet.PodsPerCore; perCore != nil && *perCore > 0 && !s.family.ignoresPodsPerCore {
		pods = min(pods, int64(*perCore)*h.VCPUs)
	}
	return pods
}

// eniPods is the number of pods that get an address from the machine's network
// interfaces: each has one address of its own and the rest for pods.
func (s *sizer) eniPods(h *Hardware) int64 {
	enis := cmp.Or(h.DefaultCardENIs, h.ENIs) - s.ReservedENIs - s.trunk(h)
	if enis <= 0 || h.IPv4PerENI <= 0 {
		return 0
	}
	perENI := h.IPv4PerENI - 1
	if !s.PrefixDelegation || h.Hypervisor == xen { // prefixes need Nitro
		return enis*perENI + hostNetworked
	}
	most := int64(uniformPods)
	if h.VCPUs > smallVCPUs {
		most = largePods
	}
	return min(enis*perENI*prefixSize+hostNetworked, most)
}

// trunk is 1 if the VPC CNI plugin keeps one of the machine's network interfaces as the trunk of interfaces that pods have of
// their own. It has one address, and none for other pods.
func (o *NodeOptions) trunk(h *Hardware) int64 {
	if o.PodENI && h.BranchInterfaces > 0 {
		return 1
	}
	return 0
}

// StartingAddresses returns how many IPv4 addresses of its subnet a machine takes for itself and its first pods. By default,
// the VPC CNI plugin keeps one interface or one prefix more than pods use
// (https://github.com/aws/amazon-vpc-cni-k8s/blob/master/docs/eni-and-ip-target.md and prefix-and-ip-target.md).
func StartingAddresses(h *Hardware, amiFamily string, o NodeOptions) int64 {
	trunk := o.trunk(h)
	switch {
	case o.ReservedENIs > 0 || o.IgnoreENIs: // custom networking, or another plugin
		return 1
	case families[amiFamily].os == osWindows: // pods use the first interface alone
		return max(h.IPv4PerENI, 1)
	case o.PrefixDelegation && h.Hypervisor != xen: // prefixes need Nitro
		return 1 + 2*prefixSize + trunk
	}
	return max(min(cmp.Or(h.DefaultCardENIs, h.ENIs)-trunk, 2)*h.IPv4PerENI, 1) + trunk
}

// tablePods is the number of pods in the table that comes with the images of Amazon
// Linux and Ubuntu, which knows nothing of an installation's settings
// (https://github.com/awslabs/amazon-eks-ami, eni-max-pods.txt).
func tablePods(h *Hardware) int64 { return (&sizer{}).eniPods(h) }

// ephemeralStorage is the size of the volume that pods write to, in bytes.
func (s *sizer) ephemeralStorage(h *Hardware) int64 {
	if s.InstanceStoreRAID && h.LocalNVMeGB > 0 {
		return h.LocalNVMeGB * 1e9
	}
	return s.dataVolume
}

// dataVolumeSize finds the volume for pods among the node profile's: the root
// volume where one is marked so and the family has no other for data, else the
// family's data device; with a Custom image the last one.
func (s *sizer) dataVolumeSize() int64 {
	chosen := -1
	for i, m := range s.Volumes {
		switch {
		case m.RootVolume != nil && *m.RootVolume && len(s.family.volumes) < 2:
			return volumeSize(m)
		case s.AMIFamily == api.FamilyCustom,
			m.DeviceName != nil && *m.DeviceName == s.family.dataDevice:
			chosen = i
		}
	}
	if chosen >= 0 {
		return volumeSize(s.Volumes[chosen])
	}
	for _, m := range DefaultVolumes(s.AMIFamily) {
		if *m.DeviceName == s.family.dataDevice {
			return volumeSize(m)
		}
	}
	return defaultVolumeSize
}

// defaultVolumeSize stands in where only a snapshot or an image says the size.
const defaultVolumeSize = 20 * gibibyte

func volumeSize(m api.BlockDeviceMapping) int64 {
	if m.EBS == nil || m.EBS.VolumeSize == nil {
		return defaultVolumeSize
	}
	return m.EBS.VolumeSize.Value()
}

// extendedResources are what the machine's device plugins and the network's controller announce.
func (s *sizer) extendedResources(h *Hardware) amount.List {
	out := make(amount.List, 8)
	add := func(name string, count int64) {
		if count > 0 {
			out[name] = count
		}
	}
	if gpu := h.GPU; gpu != nil {
		switch strings.ToLower(gpu.Manufacturer) {
		case "nvidia":
			add(resourceNvidiaGPU, gpu.Count)
		case "amd":
			add(resourceAMDGPU, gpu.Count)
		case "habana":
			add(resourceGaudi, gpu.Count)
		}
	}
	if chip := h.Accelerator; chip != nil {
		switch strings.ToLower(chip.Manufacturer) {
		case "aws":
			add(resourceNeuron, chip.Count)
			add(resourceNeuronCore, chip.Count*cmp.Or(neuronCores(chip.Name), chip.Cores))
		case "habana":
			add(resourceGaudi, chip.Count)
		}
	}
	if s.PodENI && s.family.os != osWindows { // there, addresses of pods are the resource
		add(resourcePodENI, h.BranchInterfaces)
	}
	if s.EFA {
		add(resourceEFA, h.EFAs)
	}
	if s.family.os == osWindows && !s.IgnoreENIs {
		add(resourceIPv4, h.IPv4PerENI-1) // the controller uses one interface
	}
	return out
}

// neuronCores is the number of cores that the device plugin announces for one Neuron device; 0 for an unknown one. It
// goes before what EC2 says: EC2 counts the physical cores, of which Trainium2 combines two into a logical one.
func neuronCores(device string) int64 {
	switch strings.ToLower(device) {
	case "inferentia":
		return 4
	case "inferentia2", "trainium":
		return 2
	case "trainium2":
		return 4
	}
	return 0
}
