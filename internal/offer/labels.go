package offer

import (
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Labels returns the labels that follow from the instance type alone. A machine
// lacks the label of what it does not have or the cloud does not tell.
func (h *Hardware) Labels() map[string][]string {
	out := make(map[string][]string, 24) // leaves room for those that settings add
	text := func(key, value string) {
		if value != "" {
			out[key] = []string{labelValue(value)}
		}
	}
	number := func(key string, value int64) {
		if value > 0 {
			out[key] = []string{strconv.FormatInt(value, 10)}
		}
	}
	out[api.LabelInstanceType] = []string{h.Name}
	text(api.LabelArch, h.Arch)
	text(api.LabelInstanceHypervisor, h.Hypervisor)
	text(api.LabelInstanceEncryptionInTransit, strconv.FormatBool(h.EncryptionInTransit))
	text(api.LabelInstanceCategory, h.Category)
	number(api.LabelInstanceGeneration, h.Generation)
	text(api.LabelInstanceFamily, h.Family)
	text(api.LabelInstanceSize, h.Size)
	number(api.LabelInstanceCPU, h.VCPUs)
	text(api.LabelInstanceCPUManufacturer, h.CPUManufacturer)
	number(api.LabelInstanceMemory, h.MemoryMiB)
	number(api.LabelInstanceNetworkBandwidth, h.NetworkMbps)
	number(api.LabelInstanceEBSBandwidth, h.EBSMbps)
	number(api.LabelInstanceLocalNVMe, h.LocalNVMeGB)
	if gpu := h.GPU; gpu != nil {
		text(api.LabelInstanceGPUName, gpu.Name)
		text(api.LabelInstanceGPUManufacturer, gpu.Manufacturer)
		number(api.LabelInstanceGPUCount, gpu.Count)
		number(api.LabelInstanceGPUMemory, gpu.MemoryMiB)
	}
	if chip := h.Accelerator; chip != nil {
		text(api.LabelInstanceAcceleratorName, chip.Name)
		text(api.LabelInstanceAcceleratorMaker, chip.Manufacturer)
		number(api.LabelInstanceAcceleratorCount, chip.Count)
	}
	return out
}

// labelValue spells a cloud's free text as a label: lower case, dashes for spaces.
func labelValue(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), " ", "-")
}
