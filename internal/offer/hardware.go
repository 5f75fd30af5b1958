package offer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// Hardware is what a cloud says about an instance type, before any setting of a
// Provisioner. A zero means "none" or "not known".
type Hardware struct {
	Name       string `json:"name"`
	Family     string `json:"family"`     // "m5"
	Category   string `json:"category"`   // "m"
	Generation int64  `json:"generation"` // 5
	Size       string `json:"size"`       // "large"

	VCPUs           int64  `json:"vcpus"`
	MemoryMiB       int64  `json:"memoryMiB"`
	Arch            string `json:"arch"` // as Kubernetes spells it: amd64 or arm64; empty for machines that cannot be nodes
	CPUManufacturer string `json:"cpuManufacturer,omitempty"`
	Hypervisor      string `json:"hypervisor,omitempty"` // nitro or xen; empty on bare metal
	BareMetal       bool   `json:"bareMetal,omitempty"`
	Burstable       bool   `json:"burstable,omitempty"`

	GPU         *Accelerator `json:"gpu,omitempty"`
	Accelerator *Accelerator `json:"accelerator,omitempty"`

	LocalNVMeGB         int64 `json:"localNVMeGB,omitempty"` // all disks together, in 10⁹ bytes
	NetworkMbps         int64 `json:"networkMbps,omitempty"`
	EBSMbps             int64 `json:"ebsMbps,omitempty"`
	EncryptionInTransit bool  `json:"encryptionInTransit,omitempty"`

	ENIs             int64 `json:"enis,omitempty"`            // network interfaces on all cards
	DefaultCardENIs  int64 `json:"defaultCardENIs,omitempty"` // those on the card that pods use
	IPv4PerENI       int64 `json:"ipv4PerENI,omitempty"`
	BranchInterfaces int64 `json:"branchInterfaces,omitempty"` // pod ENIs; 0: not trunking-capable
	EFAs             int64 `json:"efas,omitempty"`

	// NoEFAOnDefaultCard: the first network card takes none, as that of p6-b300.48xlarge.
	NoEFAOnDefaultCard bool `json:"noEFAOnDefaultCard,omitempty"`

	// CapacityTypes in which it is sold: api.CapacityOnDemand, api.CapacitySpot.
	CapacityTypes []string `json:"capacityTypes,omitempty"`
}

// Accelerator is a GPU or an inference or training chip.
type Accelerator struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int64  `json:"count"`
	MemoryMiB    int64  `json:"memoryMiB,omitempty"` // of each
	Cores        int64  `json:"cores,omitempty"`     // of each Neuron device; 0 where nobody has said
}

// sold reports whether the type can be bought in a capacity type anywhere.
func (h *Hardware) sold(capacityType string) bool {
	return slices.Contains(h.CapacityTypes, capacityType)
}

// SplitName takes an instance type's name apart: "m6idn.32xlarge" is of family
// m6idn, category m, generation 6 and size 32xlarge. Generation is 0 where the
// family has no number.
func SplitName(name string) (family, category string, generation int64, size string) {
	family, size, _ = strings.Cut(name, ".")
	letters := strings.IndexFunc(family, func(r rune) bool { return r < 'a' || r > 'z' })
	if letters < 0 {
		return family, family, 0, size
	}
	category, generation = family[:letters], firstNumber(family)
	// In the high-memory families (u-12tb1) the figure after the dash is terabytes
	// and the last one the generation.
	if last := family[strings.LastIndexFunc(family, notDigit)+1:]; family[letters] == '-' && last != "" {
		generation = firstNumber(last)
	}
	return family, category, generation, size
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// firstNumber returns the first run of digits in s; 0 where there is none.
func firstNumber(s string) int64 {
	s = strings.TrimLeftFunc(s, notDigit)
	if end := strings.IndexFunc(s, notDigit); end >= 0 {
		s = s[:end]
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// KubernetesArch translates a cloud's name of an architecture. Machines that can
// only run macOS have none.
func KubernetesArch(architectures ...string) string {
	for _, a := range architectures {
		switch a {
		case "x86_64", "amd64":
			return "amd64"
		case "arm64":
			return "arm64"
		}
	}
	return ""
}

// AddUsageClass notes that the type is sold under one of EC2's usage classes.
// Capacity blocks are bought in advance and are not offered.
func (h *Hardware) AddUsageClass(class string) {
	if (class == api.CapacityOnDemand || class == api.CapacitySpot) && !h.sold(class) {
		h.CapacityTypes = append(h.CapacityTypes, class)
		slices.Sort(h.CapacityTypes)
	}
}
