package offer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

func find(t *testing.T, s Settings, name string) InstanceType {
	t.Helper()
	if s.Region == "" {
		s.Region = "us-east-1"
	}
	types := Embedded().Types(s)
	i := slices.IndexFunc(types, func(it InstanceType) bool { return it.Name == name })
	if i < 0 {
		t.Fatalf("%s is not offered", name)
	}
	return types[i]
}

func hardware(t *testing.T, name string) *Hardware {
	t.Helper()
	h, ok := Embedded().Find(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return h
}

func TestPods(t *testing.T) {
	twoCards := &Hardware{Name: "m6idn.32xlarge", VCPUs: 128, ENIs: 14, DefaultCardENIs: 7, IPv4PerENI: 50}
	tests := map[string]struct {
		hardware *Hardware
		settings Settings
		want     int64
	}{
		"AWS-016: addresses of the interfaces":      {hardware(t, "t3.large"), Settings{}, 35},
		"AWS-017: only the default network card":    {twoCards, Settings{}, 345},
		"AWS-018: interfaces ignored":               {hardware(t, "t3.large"), Settings{NodeOptions: NodeOptions{IgnoreENIs: true}}, 110},
		"AWS-019: Windows":                          {hardware(t, "t3.large"), Settings{AMIFamily: api.FamilyWindows2022}, 110},
		"AWS-020: one reserved interface":           {hardware(t, "t3.large"), Settings{NodeOptions: NodeOptions{ReservedENIs: 1}}, 24},
		"all interfaces reserved":                   {hardware(t, "t3.large"), Settings{NodeOptions: NodeOptions{ReservedENIs: 3}}, 0},
		"AWS-021: more reserved than there are":     {hardware(t, "t3.large"), Settings{NodeOptions: NodeOptions{ReservedENIs: 1_000_000}}, 0},
		"the trunk of security groups for pods":     {hardware(t, "m5.large"), Settings{NodeOptions: NodeOptions{PodENI: true}}, 20},
		"a machine without a trunk":                 {hardware(t, "t3.large"), Settings{NodeOptions: NodeOptions{PodENI: true}}, 35},
		"a trunk and a reserved interface":          {hardware(t, "m5.large"), Settings{NodeOptions: NodeOptions{PodENI: true, ReservedENIs: 1}}, 11},
		"AWS-022: maxPods":                          {hardware(t, "t3.large"), Settings{Kubelet: &api.KubeletConfiguration{MaxPods: new(int32(10))}}, 10},
		"maxPods above the interfaces":              {hardware(t, "t3.large"), Settings{Kubelet: &api.KubeletConfiguration{MaxPods: new(int32(200))}}, 200},
		"maxPods wins on Windows":                   {hardware(t, "t3.large"), Settings{AMIFamily: api.FamilyWindows2019, Kubelet: &api.KubeletConfiguration{MaxPods: new(int32(10))}}, 10},
		"AWS-023: podsPerCore":                      {hardware(t, "m5.4xlarge"), Settings{Kubelet: &api.KubeletConfiguration{PodsPerCore: new(int32(1))}}, 16},
		"podsPerCore does not raise":                {hardware(t, "t3.large"), Settings{Kubelet: &api.KubeletConfiguration{PodsPerCore: new(int32(50))}}, 35},
		"podsPerCore and maxPods":                   {hardware(t, "m5.4xlarge"), Settings{Kubelet: &api.KubeletConfiguration{PodsPerCore: new(int32(4)), MaxPods: new(int32(20))}}, 20},
		"podsPerCore 0 is off":                      {hardware(t, "t3.large"), Settings{Kubelet: &api.KubeletConfiguration{PodsPerCore: new(int32(0))}}, 35},
		"AWS-025: Bottlerocket ignores podsPerCore": {hardware(t, "t3.large"), Settings{AMIFamily: api.FamilyBottlerocket, Kubelet: &api.KubeletConfiguration{PodsPerCore: new(int32(1))}}, 35},
		"prefixes on a small machine":               {hardware(t, "m5.large"), Settings{NodeOptions: NodeOptions{PrefixDelegation: true}}, 110},
		"prefixes on a large machine":               {hardware(t, "m5.24xlarge"), Settings{NodeOptions: NodeOptions{PrefixDelegation: true}}, 250},
		"prefixes on a tiny machine":                {hardware(t, "t3.nano"), Settings{NodeOptions: NodeOptions{PrefixDelegation: true}}, 34},
		"prefixes need Nitro":                       {hardware(t, "m4.large"), Settings{NodeOptions: NodeOptions{PrefixDelegation: true}}, 20},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.settings.Pods(tt.hardware); got != tt.want {
				t.Errorf("pods = %d, want %d", got, tt.want)
			}
		})
	}
}

func TestStartingAddressesIncludeTheTrunk(t *testing.T) {
	for name, want := range map[string]int64{"m5.large": 2*10 + 1, "m6g.medium": 4 + 1, "t3.large": 2 * 12} { // t3 has no trunk
		if got := StartingAddresses(hardware(t, name), api.FamilyAL2023, NodeOptions{PodENI: true}); got != want {
			t.Errorf("%s: addresses = %d, want %d", name, got, want)
		}
	}
}

// What kubelets of these types reported as allocatable, in KiB and thousandths
// of a core.
func TestEstimateIsNeverAboveWhatKubeletsReport(t *testing.T) {
	tests := map[string]struct{ kib, cpu int64 }{
		"t4g.small":  {1408312, 1930},
		"t4g.medium": {3377496, 1930},
		"t4g.xlarge": {15136012, 3920},
		"m5.large":   {7220184, 1930},
	}
	for _, family := range []string{api.FamilyAL2, api.FamilyAL2023, api.FamilyBottlerocket} {
		for name, reported := range tests {
			t.Run("AWS-039: "+family+" "+name, func(t *testing.T) {
				it := find(t, Settings{AMIFamily: family}, name)
				got := it.Allocatable()
				if got[amount.CPU] != reported.cpu {
					t.Errorf("CPU = %dm, want %dm", got[amount.CPU], reported.cpu)
				}
				if kib := got[amount.Memory] / 1024; kib > reported.kib || kib < reported.kib*95/100 {
					t.Errorf("memory = %d KiB, want at most %d and not much less", kib, reported.kib)
				}
			})
		}
	}
}

func TestOverheadParts(t *testing.T) {
	quantities := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("20Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"),
	}
	given := amount.List{amount.CPU: 2000, amount.Memory: 20 * gibibyte, amount.EphemeralStorage: 10 * gibibyte}
	h := hardware(t, "m5.xlarge") // 4 vCPUs, 58 pods

	t.Run("AWS-027: system reserve is nothing by default", func(t *testing.T) {
		if got := newSizer(Settings{}).systemReserved; len(got) != 0 {
			t.Errorf("got %v", got)
		}
	})
	t.Run("AWS-028: system reserve as given", func(t *testing.T) {
		s := newSizer(Settings{Kubelet: &api.KubeletConfiguration{SystemReserved: quantities}})
		if diff := cmp.Diff(given, s.systemReserved); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("kube reserve by default", func(t *testing.T) {
		want := amount.List{amount.CPU: 80, amount.Memory: (255 + 11*58) * mebibyte, amount.EphemeralStorage: gibibyte}
		if diff := cmp.Diff(want, newSizer(Settings{}).kubeReserve(h, 58)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("kube reserve as given", func(t *testing.T) {
		s := newSizer(Settings{Kubelet: &api.KubeletConfiguration{KubeReserved: quantities}})
		if diff := cmp.Diff(given, s.kubeReserve(h, 58)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("kube reserve given in part", func(t *testing.T) {
		s := newSizer(Settings{Kubelet: &api.KubeletConfiguration{KubeReserved: corev1.ResourceList{"cpu": resource.MustParse("1")}}})
		want := amount.List{amount.CPU: 1000, amount.Memory: (255 + 11*58) * mebibyte, amount.EphemeralStorage: gibibyte}
		if diff := cmp.Diff(want, s.kubeReserve(h, 58)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
	t.Run("kube reserve follows maxPods on Bottlerocket only", func(t *testing.T) {
		ten := &api.KubeletConfiguration{MaxPods: new(int32(10))}
		for family, pods := range map[string]int64{api.FamilyAL2: 58, api.FamilyAL2023: 58, api.FamilyUbuntu: 58, api.FamilyBottlerocket: 10} {
			s := newSizer(Settings{AMIFamily: family, Kubelet: ten, NodeOptions: NodeOptions{PrefixDelegation: true, ReservedENIs: 1}})
			if got, want := s.kubeReserve(h, s.pods(h))[amount.Memory], (255+11*pods)*mebibyte; got != want {
				t.Errorf("%s: memory = %d, want %d", family, got, want)
			}
		}
	})
	t.Run("pid is not a resource of pods", func(t *testing.T) {
		it := find(t, Settings{Kubelet: &api.KubeletConfiguration{SystemReserved: corev1.ResourceList{"pid": resource.MustParse("100")}}}, "m5.xlarge")
		if _, ok := it.Overhead["pid"]; ok {
			t.Error("pid is part of the overhead")
		}
	})
	t.Run("all parts add up", func(t *testing.T) {
		it := find(t, Settings{Kubelet: &api.KubeletConfiguration{SystemReserved: quantities}}, "m5.xlarge")
		want := amount.List{
			amount.CPU:              2080,
			amount.Memory:           20*gibibyte + (255+11*58)*mebibyte + 100*mebibyte,
			amount.EphemeralStorage: 10*gibibyte + gibibyte + 2*gibibyte,
		}
		if diff := cmp.Diff(want, it.Overhead); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if got := it.Allocatable()[amount.Memory]; got != 0 {
			t.Errorf("allocatable memory = %d, want 0 and never less", got)
		}
	})
}

func TestEvictionThreshold(t *testing.T) { // PACK-016
	const memory, storage = 16 * gibibyte, 20 * gibibyte
	const tenth = (16*gibibyte + 9) / 10
	tests := map[string]struct {
		family      string
		hard, soft  map[string]string
		wantMemory  int64
		wantStorage int64
	}{
		"AWS-031: defaults":           {wantMemory: 100 * mebibyte, wantStorage: 2 * gibibyte},
		"AWS-032: hard quantity":      {hard: map[string]string{signalMemory: "500Mi"}, wantMemory: 500 * mebibyte, wantStorage: 2 * gibibyte},
		"hard percentage":             {hard: map[string]string{signalMemory: "10%"}, wantMemory: tenth, wantStorage: 2 * gibibyte},
		"100 % is off":                {hard: map[string]string{signalMemory: "100%", signalStorage: "0%"}},
		"AWS-037: soft larger":        {hard: map[string]string{signalMemory: "1Gi"}, soft: map[string]string{signalMemory: "10%"}, wantMemory: tenth, wantStorage: 2 * gibibyte},
		"hard larger":                 {hard: map[string]string{signalMemory: "3Gi"}, soft: map[string]string{signalMemory: "10%"}, wantMemory: 3 * gibibyte, wantStorage: 2 * gibibyte},
		"soft alone beats default":    {soft: map[string]string{signalMemory: "200Mi"}, wantMemory: 200 * mebibyte, wantStorage: 2 * gibibyte},
		"Bottlerocket has no soft":    {family: api.FamilyBottlerocket, soft: map[string]string{signalMemory: "10%"}, wantMemory: 100 * mebibyte, wantStorage: 2 * gibibyte},
		"other signals do not matter": {hard: map[string]string{"pid.available": "10%"}, wantMemory: 100 * mebibyte, wantStorage: 2 * gibibyte},
		"storage":                     {hard: map[string]string{signalStorage: "5Gi"}, wantMemory: 100 * mebibyte, wantStorage: 5 * gibibyte},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSizer(Settings{AMIFamily: tt.family, Kubelet: &api.KubeletConfiguration{EvictionHard: tt.hard, EvictionSoft: tt.soft}})
			got := s.evictionThreshold(amount.List{amount.Memory: memory, amount.EphemeralStorage: storage})
			want := amount.List{amount.Memory: tt.wantMemory, amount.EphemeralStorage: tt.wantStorage}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestReservedCPU(t *testing.T) {
	for cores, want := range map[int64]int64{1: 60, 2: 70, 3: 75, 4: 80, 5: 83, 8: 90, 96: 310} {
		if got := reservedCPU(cores); got != want {
			t.Errorf("%d cores: %d, want %d", cores, got, want)
		}
	}
}

func TestMemoryOverheadPercent(t *testing.T) {
	none := find(t, Settings{NodeOptions: NodeOptions{MemoryOverheadPercent: new(0.0)}}, "m5.large")
	if got, want := none.Capacity[amount.Memory], 8192*mebibyte; got != want {
		t.Errorf("memory without overhead = %d, want %d", got, want)
	}
	arm := find(t, Settings{NodeOptions: NodeOptions{MemoryOverheadPercent: new(50.0)}}, "t4g.small")
	if got, want := arm.Capacity[amount.Memory], (2048-64)*mebibyte/2; got != want {
		t.Errorf("memory with half of it gone = %d, want %d", got, want)
	}
}

func TestEphemeralStorage(t *testing.T) {
	volume := func(device, size string) api.BlockDeviceMapping {
		m := api.BlockDeviceMapping{DeviceName: new(device), EBS: &api.BlockDevice{}}
		if size != "" {
			q := resource.MustParse(size)
			m.EBS.VolumeSize = &q
		}
		return m
	}
	root := func(m api.BlockDeviceMapping) api.BlockDeviceMapping { m.RootVolume = new(true); return m }
	tests := map[string]struct {
		settings Settings
		want     int64
	}{
		"default":                     {Settings{}, 20 * gibibyte},
		"Bottlerocket's data volume":  {Settings{AMIFamily: api.FamilyBottlerocket}, 20 * gibibyte},
		"Windows":                     {Settings{AMIFamily: api.FamilyWindows2022}, 50 * gibibyte},
		"Custom":                      {Settings{AMIFamily: api.FamilyCustom}, 20 * gibibyte},
		"the family's device":         {Settings{Volumes: []api.BlockDeviceMapping{volume("/dev/xvda", "50Gi"), volume("/dev/xvdb", "90Gi")}}, 50 * gibibyte},
		"Bottlerocket":                {Settings{AMIFamily: api.FamilyBottlerocket, Volumes: []api.BlockDeviceMapping{volume("/dev/xvda", "4Gi"), volume("/dev/xvdb", "90Gi")}}, 90 * gibibyte},
		"Bottlerocket's marked root":  {Settings{AMIFamily: api.FamilyBottlerocket, Volumes: []api.BlockDeviceMapping{root(volume("/dev/xvda", "4Gi")), volume("/dev/xvdb", "90Gi")}}, 90 * gibibyte},
		"marked as root":              {Settings{Volumes: []api.BlockDeviceMapping{volume("/dev/xvda", "50Gi"), root(volume("/dev/sdz", "70Gi"))}}, 70 * gibibyte},
		"Custom uses the last":        {Settings{AMIFamily: api.FamilyCustom, Volumes: []api.BlockDeviceMapping{volume("/dev/sda", "50Gi"), volume("/dev/sdz", "70Gi")}}, 70 * gibibyte},
		"no such device":              {Settings{Volumes: []api.BlockDeviceMapping{volume("/dev/other", "50Gi")}}, 20 * gibibyte},
		"size only in the snapshot":   {Settings{Volumes: []api.BlockDeviceMapping{volume("/dev/xvda", "")}}, 20 * gibibyte},
		"instance store without RAID": {Settings{}, 20 * gibibyte},
		"instance store":              {Settings{InstanceStoreRAID: true}, 75e9},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			it := find(t, tt.settings, "m5d.large")
			if got := it.Capacity[amount.EphemeralStorage]; got != tt.want {
				t.Errorf("ephemeral storage = %d, want %d", got, tt.want)
			}
		})
	}
	if got := find(t, Settings{InstanceStoreRAID: true}, "m5.large").Capacity[amount.EphemeralStorage]; got != 20*gibibyte {
		t.Errorf("without local disks = %d, want the volume", got)
	}
}

func TestDefaultVolumes(t *testing.T) {
	for family, want := range map[string][]string{
		api.FamilyAL2:          {"/dev/xvda 20Gi gp3"},
		api.FamilyBottlerocket: {"/dev/xvda 4Gi gp3", "/dev/xvdb 20Gi gp3"},
		api.FamilyWindows2019:  {"/dev/sda1 50Gi gp3"},
		api.FamilyCustom:       nil,
	} {
		var got []string
		for _, m := range DefaultVolumes(family) {
			got = append(got, *m.DeviceName+" "+m.EBS.VolumeSize.String()+" "+*m.EBS.VolumeType)
			if !*m.EBS.Encrypted || !*m.EBS.DeleteOnTermination {
				t.Errorf("%s: %s is not encrypted or stays behind", family, *m.DeviceName)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", family, diff)
		}
	}
}

func TestDefaultFamily(t *testing.T) {
	for version, want := range map[string]string{
		"1.29": api.FamilyAL2, "v1.23.4": api.FamilyAL2, "1.30": api.FamilyAL2023, "1.36": api.FamilyAL2023,
		"1.29+": api.FamilyAL2, "": api.FamilyAL2023, "2.0": api.FamilyAL2023,
	} {
		if got := DefaultFamily(version); got != want {
			t.Errorf("%q: %s, want %s", version, got, want)
		}
	}
}
