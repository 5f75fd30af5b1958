package offer

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// family is what an AMI family means for a node's labels, capacity and volumes.
type family struct {
	os string
	// windowsBuild is the value of api.LabelWindowsBuild.
	windowsBuild string
	// dataDevice is the volume on which pods' ephemeral storage lies.
	dataDevice string
	volumes    []volume
	// uniformDensity: the network plugin does not hand out addresses by ENI.
	uniformDensity bool
	// ignoresPodsPerCore: the family's kubelet has no such setting. ignoresEvictionSoft: the thresholds of soft
	// evictions are not subtracted from what pods may use, as with Karpenter.
	ignoresPodsPerCore  bool
	ignoresEvictionSoft bool
}

type volume struct {
	device string
	size   string
}

const (
	osLinux   = "linux"
	osWindows = "windows"
)

var families = map[string]family{
	api.FamilyAL2:    {os: osLinux, dataDevice: "/dev/xvda", volumes: []volume{{"/dev/xvda", "20Gi"}}},
	api.FamilyAL2023: {os: osLinux, dataDevice: "/dev/xvda", volumes: []volume{{"/dev/xvda", "20Gi"}}},
	api.FamilyUbuntu: {os: osLinux, dataDevice: "/dev/sda1", volumes: []volume{{"/dev/sda1", "20Gi"}}},
	api.FamilyBottlerocket: {
		os: osLinux, dataDevice: "/dev/xvdb",
		volumes:            []volume{{"/dev/xvda", "4Gi"}, {"/dev/xvdb", "20Gi"}},
		ignoresPodsPerCore: true, ignoresEvictionSoft: true,
	},
	api.FamilyWindows2019: {
		os: osWindows, windowsBuild: "10.0.17763", dataDevice: "/dev/sda1",
		volumes: []volume{{"/dev/sda1", "50Gi"}}, uniformDensity: true,
	},
	api.FamilyWindows2022: {
		os: osWindows, windowsBuild: "10.0.20348", dataDevice: "/dev/sda1",
		volumes: []volume{{"/dev/sda1", "50Gi"}}, uniformDensity: true,
	},
	api.FamilyCustom: {}, // the image decides
}

// DefaultFamily is the AMI family of a node profile that names none: AL2023 for
// Kubernetes 1.30 and later and for a version that is not known, else AL2.
func DefaultFamily(kubernetesVersion string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), ".")
	if minor := firstNumber(rest); major == "1" && minor > 0 && minor < 30 {
		return api.FamilyAL2
	}
	return api.FamilyAL2023
}

// DefaultVolumes returns the block devices of a node profile that names none:
// encrypted gp3 volumes that go with the machine. A Custom image brings its own.
func DefaultVolumes(amiFamily string) []api.BlockDeviceMapping {
	var out []api.BlockDeviceMapping
	for _, v := range families[amiFamily].volumes {
		size := resource.MustParse(v.size)
		out = append(out, api.BlockDeviceMapping{
			DeviceName: new(v.device),
			EBS:        (&api.BlockDevice{VolumeSize: &size}).Defaulted(),
		})
	}
	return out
}

// windowsLicence is the price of Windows per vCPU and hour, in micro-dollars: the
// difference between the on-demand prices of Windows and Linux machines in AWS's
// price list. Burstable machines pay less, so that it is the most.
const windowsLicence Price = 46_000

// licence is what the operating system adds to the price of the hardware.
func (f family) licence(h *Hardware) Price {
	if f.os != osWindows {
		return 0
	}
	return windowsLicence * Price(h.VCPUs)
}

// operatingSystems that a machine of an architecture can have with the family.
func (f family) operatingSystems(arch string) []string {
	switch {
	case f.os != "":
		return []string{f.os}
	case arch == "amd64":
		return []string{osLinux, osWindows}
	}
	return []string{osLinux}
}
