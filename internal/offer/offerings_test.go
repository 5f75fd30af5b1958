package offer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func TestExtendedResources(t *testing.T) {
	tests := map[string]struct {
		settings Settings
		want     amount.List
	}{
		"g5.12xlarge":    {Settings{}, amount.List{resourceNvidiaGPU: 4}},
		"g4ad.16xlarge":  {Settings{}, amount.List{resourceAMDGPU: 4}},
		"inf1.6xlarge":   {Settings{}, amount.List{resourceNeuron: 4, resourceNeuronCore: 16}},
		"inf2.24xlarge":  {Settings{}, amount.List{resourceNeuron: 6, resourceNeuronCore: 12}},
		"trn1.32xlarge":  {Settings{}, amount.List{resourceNeuron: 16, resourceNeuronCore: 32}},
		"m5.2xlarge":     {Settings{NodeOptions: NodeOptions{EFA: true}}, amount.List{}},
		"m5.xlarge":      {Settings{NodeOptions: NodeOptions{PodENI: true}}, amount.List{resourcePodENI: 18}},
		"t3.large":       {Settings{NodeOptions: NodeOptions{PodENI: true}}, amount.List{}},
		"c5.large":       {Settings{AMIFamily: api.FamilyWindows2022}, amount.List{resourceIPv4: 9}},
		"m5.large":       {Settings{AMIFamily: api.FamilyWindows2022, NodeOptions: NodeOptions{PodENI: true}}, amount.List{resourceIPv4: 9}},
		"c5.xlarge":      {Settings{AMIFamily: api.FamilyWindows2019, NodeOptions: NodeOptions{IgnoreENIs: true}}, amount.List{}},
		"m6idn.32xlarge": {Settings{NodeOptions: NodeOptions{EFA: true}}, amount.List{resourceEFA: 2}},
		"p4d.24xlarge":   {Settings{NodeOptions: NodeOptions{PodENI: true, EFA: true}}, amount.List{resourceNvidiaGPU: 8, resourcePodENI: 62, resourceEFA: 4}},
	}
	standard := []string{amount.CPU, amount.Memory, amount.Pods, amount.EphemeralStorage}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := amount.List{}
			for resource, v := range find(t, tt.settings, name).Capacity {
				if !slices.Contains(standard, resource) {
					got[resource] = v
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	gaudi := newSizer(Settings{}).extendedResources(hardware(t, "dl1.24xlarge")) // not sold in the embedded regions
	if diff := cmp.Diff(amount.List{resourceGaudi: 8}, gaudi); diff != "" {
		t.Errorf("dl1.24xlarge: -want +got\n%s", diff)
	}
	for _, physical := range []int64{0, 8} { // not said, or as EC2 says
		chip := &Accelerator{Name: "Trainium2", Manufacturer: "AWS", Count: 16, Cores: physical}
		if got := newSizer(Settings{}).extendedResources(&Hardware{Accelerator: chip}); got[resourceNeuronCore] != 64 {
			t.Errorf("trn2.48xlarge with %d physical cores per device: %d logical cores, want 64", physical, got[resourceNeuronCore])
		}
	}
	unknown := newSizer(Settings{}).extendedResources(&Hardware{Accelerator: &Accelerator{Name: "Trainium9", Manufacturer: "AWS", Count: 16, Cores: 8}})
	if diff := cmp.Diff(amount.List{resourceNeuron: 16, resourceNeuronCore: 128}, unknown); diff != "" {
		t.Errorf("Trainium9: -want +got\n%s", diff)
	}
}

func TestLabels(t *testing.T) {
	tests := map[string]struct {
		settings Settings
		want     map[string]string // short key: values
	}{
		"m5.large": {Settings{}, map[string]string{
			"node.kubernetes.io/instance-type": "m5.large", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
			"topology.kubernetes.io/region": "us-east-1", "instance-hypervisor": "nitro", "instance-encryption-in-transit-supported": "false",
			"instance-category": "m", "instance-generation": "5", "instance-family": "m5", "instance-size": "large",
			"instance-cpu": "2", "instance-cpu-manufacturer": "intel", "instance-memory": "8192",
			"instance-network-bandwidth": "750", "instance-ebs-bandwidth": "4750", "instance-pods": "29",
		}},
		"g4ad.16xlarge": {Settings{}, map[string]string{
			"node.kubernetes.io/instance-type": "g4ad.16xlarge", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
			"topology.kubernetes.io/region": "us-east-1", "instance-hypervisor": "nitro", "instance-encryption-in-transit-supported": "true",
			"instance-category": "g", "instance-generation": "4", "instance-family": "g4ad", "instance-size": "16xlarge",
			"instance-cpu": "64", "instance-cpu-manufacturer": "amd", "instance-memory": "262144", "instance-local-nvme": "2400",
			"instance-network-bandwidth": "25000", "instance-ebs-bandwidth": "6300", "instance-pods": "234",
			"instance-gpu-name": "radeon-pro-v520", "instance-gpu-manufacturer": "amd", "instance-gpu-count": "4", "instance-gpu-memory": "8192",
		}},
		"inf1.6xlarge": {Settings{AMIFamily: api.FamilyWindows2022}, map[string]string{
			"node.kubernetes.io/instance-type": "inf1.6xlarge", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "windows",
			"node.kubernetes.io/windows-build": "10.0.20348",
			"topology.kubernetes.io/region":    "us-east-1", "instance-hypervisor": "nitro", "instance-encryption-in-transit-supported": "true",
			"instance-category": "inf", "instance-generation": "1", "instance-family": "inf1", "instance-size": "6xlarge",
			"instance-cpu": "24", "instance-cpu-manufacturer": "intel", "instance-memory": "49152",
			"instance-network-bandwidth": "25000", "instance-ebs-bandwidth": "4750", "instance-pods": "110",
			"instance-accelerator-name": "inferentia", "instance-accelerator-manufacturer": "aws", "instance-accelerator-count": "4",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for key, values := range find(t, tt.settings, name).Labels {
				got[strings.TrimPrefix(key, api.AWSDomain+"/")] = strings.Join(values, ",")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestOperatingSystems(t *testing.T) {
	custom := Settings{AMIFamily: api.FamilyCustom}
	if diff := cmp.Diff([]string{"linux", "windows"}, find(t, custom, "m5.large").Labels[api.LabelOS]); diff != "" {
		t.Errorf("amd64: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"linux"}, find(t, custom, "t4g.small").Labels[api.LabelOS]); diff != "" {
		t.Errorf("arm64: -want +got\n%s", diff)
	}
	for _, it := range Embedded().Types(Settings{Region: "us-east-1", AMIFamily: api.FamilyWindows2022}) {
		if arch := it.Labels[api.LabelArch]; !slices.Equal(arch, []string{"amd64"}) {
			t.Errorf("%s is %s, for which there is no Windows", it.Name, arch)
		}
	}
}

// https://docs.aws.amazon.com/linux/al2023/ug/system-requirements.html
func TestAL2023IsNotForTheFirstGravitonProcessors(t *testing.T) {
	for family, want := range map[string]bool{"": false, api.FamilyAL2023: false, api.FamilyAL2: true, api.FamilyBottlerocket: true, api.FamilyCustom: true} {
		types := Embedded().Types(Settings{Region: "us-east-1", AMIFamily: family})
		if got := slices.ContainsFunc(types, func(it InstanceType) bool { return strings.HasPrefix(it.Name, "a1.") }); got != want {
			t.Errorf("AMI family %q: a1 is offered: %t, want %t", family, got, want)
		}
	}
}

func TestOfferingsOfSomeZones(t *testing.T) {
	it := find(t, Settings{
		Zones: []string{"us-east-1f", "us-east-1a", "us-east-1z"},
		Unavailable: func(h *Hardware, zone, capacityType string) string {
			if h.Name == "t3.large" && zone == "us-east-1f" && capacityType == api.CapacitySpot {
				return "insufficient capacity"
			}
			return ""
		},
	}, "t3.large")
	want := []Offering{
		{Zone: "us-east-1a", CapacityType: "on-demand", Price: 83_200},
		{Zone: "us-east-1a", CapacityType: "spot", Price: 31_616},
		{Zone: "us-east-1f", CapacityType: "on-demand", Price: 83_200},
		{Zone: "us-east-1f", CapacityType: "spot", Price: 31_616, Unavailable: "insufficient capacity"},
	}
	if diff := cmp.Diff(want, it.Offerings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := Embedded().Types(Settings{Region: "us-east-1", Zones: []string{}}); len(got) != 0 {
		t.Errorf("without zones %d types are offered", len(got))
	}
}

func TestTypesAreInOrderAndWhole(t *testing.T) {
	for _, region := range []string{"us-east-1", "us-west-2", "eu-west-1"} {
		types := Embedded().Types(Settings{Region: region})
		if !slices.IsSortedFunc(types, func(a, b InstanceType) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%s: types are not sorted by name", region)
		}
		for _, it := range types {
			sorted := InstanceType{Offerings: slices.Clone(it.Offerings)}
			sorted.Sort()
			if diff := cmp.Diff(sorted.Offerings, it.Offerings); diff != "" {
				t.Errorf("%s: offerings are out of order: -want +got\n%s", it.Name, diff)
			}
			if len(it.Offerings) == 0 || it.Capacity[amount.CPU] <= 0 || it.Capacity[amount.Memory] <= 0 || it.Capacity[amount.Pods] <= 0 {
				t.Errorf("%s %s: capacity %v with %d offerings", region, it.Name, it.Capacity, len(it.Offerings))
			}
		}
	}
}

// Two markets must not share what one of them may change.
func TestTypesDoNotShareMaps(t *testing.T) {
	s := Settings{Region: "us-east-1"}
	first := Embedded().Types(s)
	first[0].Labels["changed"] = []string{"yes"}
	first[0].Capacity["changed"] = 1
	second := Embedded().Types(s)
	if _, ok := second[0].Labels["changed"]; ok {
		t.Error("labels are shared")
	}
	if _, ok := second[0].Capacity["changed"]; ok {
		t.Error("capacity is shared")
	}
}

func BenchmarkTypes(b *testing.B) {
	c := Embedded()
	b.ReportAllocs()
	for b.Loop() {
		c.Types(Settings{Region: "us-east-1"})
	}
}
