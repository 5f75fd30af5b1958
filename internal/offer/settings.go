package offer

import (
	"maps"
	"slices"
	"strconv"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// NodeOptions are the options of the agent that size its nodes. The zero value means the defaults.
type NodeOptions struct {
	// MemoryOverheadPercent is the share of memory that the hypervisor keeps, from 0 to less than 100, until a
	// node of the type has shown it; nil means DefaultMemoryOverheadPercent.
	MemoryOverheadPercent *float64
	// IgnoreENIs: the number of pods is 110, not what the network interfaces allow.
	IgnoreENIs bool
	// ReservedENIs are not used for pods, as with custom networking.
	ReservedENIs int64
	// PrefixDelegation: addresses are handed out in prefixes of 16.
	PrefixDelegation bool
	// PodENI and EFA: nodes offer vpc.amazonaws.com/pod-eni and /efa.
	PodENI bool
	EFA    bool
}

// Settings are what a Provisioner, its node profile and the installation say
// about the size of nodes. The zero value means the defaults everywhere.
type Settings struct {
	Region string
	// Zones that machines may be launched into; nil means all of the region.
	Zones     []string
	AMIFamily string // empty: AL2023
	Kubelet   *api.KubeletConfiguration
	// Volumes are the node profile's block devices; empty means the family's.
	Volumes []api.BlockDeviceMapping
	// InstanceStoreRAID puts pods' ephemeral storage on the local NVMe disks of
	// machines that have any.
	InstanceStoreRAID bool

	NodeOptions
	// IPv6: pods have IPv6 addresses. The VPC CNI plugin takes those from prefixes, which need Nitro.
	IPv6 bool

	// Unavailable returns why an offering cannot be bought now, or an empty
	// string; nil means that all can whose price is known. Otherwise, on-demand offerings
	// without a known price are listed too, as unavailable and with the price 0.
	Unavailable func(h *Hardware, zone, capacityType string) string
}

// DefaultMemoryOverheadPercent is what a virtual machine usually lacks of its
// nominal memory.
const DefaultMemoryOverheadPercent = 7.5

// Types returns every instance type that the region sells in one of the zones,
// sized by the settings and sorted by name. For a region that the catalogue does
// not know it returns none; see Region for the reason.
func (c *Catalogue) Types(s Settings) []InstanceType {
	region := c.Regions[s.Region]
	if region == nil {
		return nil
	}
	if s.AMIFamily == "" {
		s.AMIFamily = api.FamilyAL2023
	}
	sizes := newSizer(s)
	labels := c.labels()
	out := make([]InstanceType, 0, len(region.Sales))
	for i := range c.Hardware {
		h := &c.Hardware[i]
		sale, ok := region.Sales[h.Name]
		if !ok || !sizes.boots(h) || s.IPv6 && h.Hypervisor == xen {
			continue
		}
		offerings := s.offerings(h, region, sale, sizes.family.licence(h))
		if len(offerings) == 0 {
			continue
		}
		t := sizes.instanceType(h, labels[i])
		t.Offerings = offerings
		out = append(out, t)
	}
	return out
}

// sizer holds what is the same for all types under one set of Settings.
type sizer struct {
	Settings
	family         family
	shared         map[string][]string // labels that all types have
	memoryPercent  float64
	kubeReserved   amount.List
	systemReserved amount.List
	dataVolume     int64
}

// boots reports whether the family's images run on machines of the type.
func (s *sizer) boots(h *Hardware) bool {
	switch {
	case s.family.os == osWindows:
		return h.Arch == "amd64"
	case s.AMIFamily == api.FamilyAL2023 && h.Family == "a1":
		return false // Amazon Linux 2023 needs ARMv8.2, which the first Graviton processors do not have.
	}
	return h.Arch != ""
}

func newSizer(s Settings) *sizer {
	out := &sizer{Settings: s, family: families[s.AMIFamily], memoryPercent: DefaultMemoryOverheadPercent}
	if s.MemoryOverheadPercent != nil {
		out.memoryPercent = *s.MemoryOverheadPercent
	}
	if s.Kubelet == nil {
		out.Kubelet = &api.KubeletConfiguration{}
	}
	out.kubeReserved = amount.FromResourceList(out.Kubelet.KubeReserved)
	out.systemReserved = amount.FromResourceList(out.Kubelet.SystemReserved)
	out.dataVolume = out.dataVolumeSize()
	out.shared = map[string][]string{api.LabelRegion: {s.Region}}
	if build := out.family.windowsBuild; build != "" {
		out.shared[api.LabelWindowsBuild] = []string{build}
	}
	return out
}

func (s *sizer) instanceType(h *Hardware, hardwareLabels map[string][]string) InstanceType {
	capacity := s.extendedResources(h)
	capacity[amount.CPU] = h.VCPUs * 1000
	capacity[amount.Memory] = s.memory(h)
	capacity[amount.Pods] = s.pods(h)
	capacity[amount.EphemeralStorage] = s.ephemeralStorage(h)

	return InstanceType{Name: h.Name, Labels: s.labels(h, hardwareLabels), Capacity: capacity, Overhead: s.overhead(h, capacity)}
}

// Labels returns the labels that an instance type has under the settings.
func (s Settings) Labels(h *Hardware) map[string][]string { return newSizer(s).labels(h, h.Labels()) }

func (s *sizer) labels(h *Hardware, hardwareLabels map[string][]string) map[string][]string {
	out := maps.Clone(hardwareLabels)
	maps.Copy(out, s.shared)
	out[api.LabelOS] = s.family.operatingSystems(h.Arch)
	out[api.LabelInstancePods] = []string{strconv.FormatInt(s.pods(h), 10)}
	return out
}

func (s *Settings) offerings(h *Hardware, region *Region, sale Sale, licence Price) []Offering {
	zones := sale.Zones
	if s.Zones != nil {
		zones = slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return !slices.Contains(s.Zones, zone) })
	}
	out := make([]Offering, 0, 2*len(zones))
	add := func(zone, capacityType string, price Price) {
		if !h.sold(capacityType) {
			return
		}
		o := Offering{Zone: zone, ZoneID: region.ZoneIDs[zone], CapacityType: capacityType, Price: price + licence}
		switch unknown := price <= 0; {
		case unknown && (s.Unavailable == nil || capacityType != api.CapacityOnDemand):
			return
		case unknown:
			o.Price, o.Unavailable = 0, "its price is not known"
		case s.Unavailable != nil:
			o.Unavailable = s.Unavailable(h, zone, capacityType)
		}
		out = append(out, o)
	}
	for _, zone := range zones {
		add(zone, api.CapacityOnDemand, sale.OnDemand)
		add(zone, api.CapacitySpot, sale.Spot[zone])
	}
	return out
}
