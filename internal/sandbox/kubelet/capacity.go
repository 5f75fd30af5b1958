package kubelet

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30

	// defaultMaxPods is the kubelet's own.
	defaultMaxPods = 110
	// defaultVolumeGiB is the size of the volume for pods of a machine that says nothing
	// of its disks.
	defaultVolumeGiB = 20
)

// hardware is what a kubelet finds on its machine.
type hardware struct {
	machine machineType
	family  userdata.Family
	// memoryOverhead is the share of the memory that the hypervisor and the
	// firmware keep to themselves.
	memoryOverhead float64
	// storage is the size of the disk that pods write to, in bytes.
	storage int64
	efas    int64
}

// newHardware is what the kubelet of a machine with the user data finds.
func newHardware(m Machine, machine machineType, settings userdata.Settings, memoryOverhead float64) hardware {
	h := hardware{machine: machine, family: settings.Family, memoryOverhead: memoryOverhead, efas: int64(m.EFAs)}
	if settings.LocalDisks != "" && machine.localNVMeGB > 0 {
		h.storage = machine.localNVMeGB * 1e9
		return h
	}
	size, ok := m.Volumes[podsDevice(settings.Family)]
	if !ok {
		size = defaultVolumeGiB
	}
	h.storage = int64(size) * gib
	return h
}

// podsDevice is the disk on which the images of a family keep what pods write.
func podsDevice(family userdata.Family) string {
	switch family {
	case userdata.Bottlerocket:
		return "/dev/xvdb"
	case userdata.Ubuntu, userdata.Windows:
		return "/dev/sda1"
	}
	return "/dev/xvda"
}

// capacity returns what the machine has.
func (h hardware) capacity(settings userdata.Kubelet) corev1.ResourceList {
	memory := int64(float64(h.machine.memoryMiB*mib)*(1-h.memoryOverhead)) / kib * kib
	list := corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(h.machine.cpus, resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(h.storage, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(h.maxPods(settings), resource.DecimalSI),
	}
	if h.efas > 0 {
		list["vpc.amazonaws.com/efa"] = *resource.NewQuantity(h.efas, resource.DecimalSI)
	}
	// Their device plugins run from the start, unless they are withheld.
	for name, count := range h.machine.devices {
		list[name] = *resource.NewQuantity(count, resource.DecimalSI)
	}
	return list
}

// allocatable returns what pods may use of the capacity: less what is reserved for
// the kubelet and the system, and less the eviction thresholds.
func (h hardware) allocatable(settings userdata.Kubelet) (corev1.ResourceList, error) {
	list := h.capacity(settings)
	kube := h.kubeReserved(settings)
	for name, quantity := range list {
		for _, reserved := range []corev1.ResourceList{kube, settings.SystemReserved} {
			if amount, ok := reserved[name]; ok {
				quantity.Sub(amount)
			}
		}
		list[name] = quantity
	}
	thresholds := h.evictionHard(settings)
	for signal, name := range map[string]corev1.ResourceName{
		"memory.available": corev1.ResourceMemory,
		"nodefs.available": corev1.ResourceEphemeralStorage,
	} {
		capacity := h.capacity(settings)[name]
		threshold, err := thresholdOf(thresholds[signal], capacity)
		if err != nil {
			return nil, fmt.Errorf("eviction threshold %s: %w", signal, err)
		}
		quantity := list[name]
		quantity.Sub(threshold)
		list[name] = quantity
	}
	for name, quantity := range list {
		if quantity.Sign() < 0 {
			return nil, fmt.Errorf("more %s is reserved than the machine has", name)
		}
	}
	return list, nil
}

// maxPods is how many pods the kubelet accepts.
func (h hardware) maxPods(settings userdata.Kubelet) int64 {
	var limit int64
	switch {
	case settings.MaxPods != nil:
		limit = int64(*settings.MaxPods)
	case settings.IgnorePodTable || h.family == userdata.Windows:
		limit = defaultMaxPods
	default:
		limit = h.podTable()
	}
	if settings.PodsPerCore > 0 {
		limit = min(limit, int64(settings.PodsPerCore)*h.machine.cpus)
	}
	return limit
}

// podTable is the number of pods in the images' table of instance types: each
// interface keeps one address, and two pods use the host's network
// (https://github.com/awslabs/amazon-eks-ami, eni-max-pods.txt).
func (h hardware) podTable() int64 {
	return h.machine.enis*(h.machine.addressesPerENI-1) + 2
}

// replacesDefaults says that reservations and thresholds that are given replace all
// of the image's: there they are flags, which win as a whole. Elsewhere they are
// merged into a configuration file by key.
func (h hardware) replacesDefaults() bool {
	return h.family == userdata.AL2 || h.family == userdata.Ubuntu
}

// kubeReserved is what is kept for the kubelet and the container runtime.
func (h hardware) kubeReserved(settings userdata.Kubelet) corev1.ResourceList {
	if settings.KubeReserved != nil && h.replacesDefaults() {
		return settings.KubeReserved
	}
	reserved := corev1.ResourceList{}
	if h.family != userdata.Windows {
		pods := h.podTable()
		if h.family == userdata.Bottlerocket {
			pods = h.maxPods(settings)
		}
		// The images' formula: 255 MiB and 11 MiB for each pod.
		reserved[corev1.ResourceMemory] = *resource.NewQuantity((255+11*pods)*mib, resource.BinarySI)
		reserved[corev1.ResourceCPU] = *resource.NewMilliQuantity(reservedMilliCPU(h.machine.cpus), resource.DecimalSI)
		reserved[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(gib, resource.BinarySI)
	}
	maps.Copy(reserved, settings.KubeReserved)
	return reserved
}

// reservedMilliCPU is the images' formula: 6 % of the first core, 1 % of the second,
// 0.5 % of the next two and 0.25 % of the rest, each tier rounded down.
func reservedMilliCPU(cpus int64) int64 {
	const perCore = 10_000 // in hundredths of a percent
	tier := func(cores, share int64) int64 { return cores * 1000 * share / perCore }
	reserved := tier(min(cpus, 1), 600)
	reserved += tier(max(0, min(cpus, 2)-1), 100)
	reserved += tier(max(0, min(cpus, 4)-2), 50)
	reserved += tier(max(0, cpus-4), 25)
	return reserved
}

// evictionHard is when the kubelet begins to evict pods, by signal.
func (h hardware) evictionHard(settings userdata.Kubelet) map[string]string {
	if settings.EvictionHard != nil && h.replacesDefaults() {
		return settings.EvictionHard
	}
	thresholds := map[string]string{"memory.available": "100Mi", "nodefs.available": "10%"}
	if h.family == userdata.Windows {
		thresholds["memory.available"] = "500Mi"
	}
	maps.Copy(thresholds, settings.EvictionHard)
	return thresholds
}

// thresholdOf reads an eviction threshold: an amount, a percentage of the capacity,
// or nothing.
func thresholdOf(text string, capacity resource.Quantity) (resource.Quantity, error) {
	if text == "" {
		return resource.Quantity{}, nil
	}
	percent, isPercentage := strings.CutSuffix(text, "%")
	if !isPercentage {
		return resource.ParseQuantity(text)
	}
	share, err := strconv.ParseFloat(percent, 64)
	if err != nil {
		return resource.Quantity{}, err
	}
	return *resource.NewQuantity(int64(float64(capacity.Value())*share/100), resource.BinarySI), nil
}
