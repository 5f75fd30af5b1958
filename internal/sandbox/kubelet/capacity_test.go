package kubelet

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/sandbox/kubelet/userdata"
)

const testCatalogue = `name,arch,vcpus,memory_mib,gpu_count,gpu_manufacturer,accelerator_name,accelerator_count,eni_max_default_card,ipv4_per_eni,local_nvme_gb
m5.large,x86_64,2,8192,,,,,3,10,
m6g.4xlarge,arm64,16,65536,,,,,8,30,
g5.12xlarge,x86_64,48,196608,4,NVIDIA,,,15,50,3800
inf2.24xlarge,x86_64,96,393216,,,Inferentia2,6,15,50,
`

func testMachine(t *testing.T, name string) machineType {
	t.Helper()
	types, err := readMachineTypes([]byte(testCatalogue))
	if err != nil {
		t.Fatal(err)
	}
	return types[name]
}

// amounts renders a resource list for comparison.
func amounts(list corev1.ResourceList) map[string]string {
	texts := map[string]string{}
	for name, quantity := range list {
		texts[string(name)] = quantity.String()
	}
	return texts
}

func TestCapacityAndAllocatable(t *testing.T) {
	reserve := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	tests := map[string]struct {
		machine  string
		family   userdata.Family
		overhead float64
		settings userdata.Kubelet
		want     map[string]string // allocatable of what differs from the capacity
		capacity map[string]string
	}{
		"the image's defaults": {
			machine: "m5.large", family: userdata.AL2023, overhead: 0.05,
			capacity: map[string]string{"cpu": "2", "memory": "7969177Ki", "ephemeral-storage": "20Gi", "pods": "29"},
			// 70m CPU; 255 + 11 × 29 = 574 MiB and 100 MiB; 1 GiB and a tenth of 20 GiB.
			want: map[string]string{"cpu": "1930m", "memory": "7279001Ki", "ephemeral-storage": "17Gi", "pods": "29"},
		},
		"reservation merged by key": {
			machine: "m5.large", family: userdata.AL2023,
			settings: userdata.Kubelet{KubeReserved: reserve, SystemReserved: reserve},
			capacity: map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "29"},
			want:     map[string]string{"cpu": "1930m", "memory": "6044Mi", "ephemeral-storage": "17Gi", "pods": "29"},
		},
		"reservation by flags replaces the image's": {
			machine: "m5.large", family: userdata.AL2,
			settings: userdata.Kubelet{KubeReserved: reserve, EvictionHard: map[string]string{"memory.available": "25%"}},
			capacity: map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "29"},
			want:     map[string]string{"cpu": "2", "memory": "5Gi", "ephemeral-storage": "20Gi", "pods": "29"},
		},
		"max-pods beyond the table": {
			machine: "m6g.4xlarge", family: userdata.AL2,
			settings: userdata.Kubelet{MaxPods: ptr.To[int32](250), IgnorePodTable: true},
			capacity: map[string]string{"cpu": "16", "memory": "64Gi", "ephemeral-storage": "20Gi", "pods": "250"},
			// Reserved by the table's 234 pods: 255 + 11 × 234 = 2829 MiB.
			want: map[string]string{"cpu": "15890m", "memory": "62607Mi", "ephemeral-storage": "17Gi", "pods": "250"},
		},
		"Bottlerocket reserves for the pods that it allows": {
			machine: "m6g.4xlarge", family: userdata.Bottlerocket,
			settings: userdata.Kubelet{MaxPods: ptr.To[int32](20)},
			capacity: map[string]string{"cpu": "16", "memory": "64Gi", "ephemeral-storage": "20Gi", "pods": "20"},
			want:     map[string]string{"cpu": "15890m", "memory": "64961Mi", "ephemeral-storage": "17Gi", "pods": "20"},
		},
		"no table and no max-pods": {
			machine: "m5.large", family: userdata.AL2,
			settings: userdata.Kubelet{IgnorePodTable: true, PodsPerCore: 100},
			capacity: map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "110"},
			want:     map[string]string{"cpu": "1930m", "memory": "7518Mi", "ephemeral-storage": "17Gi", "pods": "110"},
		},
		"pods per core": {
			machine: "m5.large", family: userdata.AL2023,
			settings: userdata.Kubelet{PodsPerCore: 4},
			capacity: map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "8"},
			want:     map[string]string{"cpu": "1930m", "memory": "7518Mi", "ephemeral-storage": "17Gi", "pods": "8"},
		},
		"Windows": {
			machine: "m5.large", family: userdata.Windows,
			capacity: map[string]string{"cpu": "2", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "110"},
			want:     map[string]string{"cpu": "2", "memory": "7692Mi", "ephemeral-storage": "18Gi", "pods": "110"},
		},
		"GPUs": {
			machine: "g5.12xlarge", family: userdata.AL2023,
			settings: userdata.Kubelet{MaxPods: ptr.To[int32](110)},
			capacity: map[string]string{"cpu": "48", "memory": "192Gi", "ephemeral-storage": "20Gi", "pods": "110", "nvidia.com/gpu": "4"},
			want:     map[string]string{"cpu": "47810m", "memory": "188146Mi", "ephemeral-storage": "17Gi", "pods": "110", "nvidia.com/gpu": "4"},
		},
		"Neuron devices and their cores": {
			machine: "inf2.24xlarge", family: userdata.AL2,
			settings: userdata.Kubelet{KubeReserved: corev1.ResourceList{}, EvictionHard: map[string]string{}},
			capacity: map[string]string{"cpu": "96", "memory": "384Gi", "ephemeral-storage": "20Gi", "pods": "737", "aws.amazon.com/neuron": "6", "aws.amazon.com/neuroncore": "12"},
			want:     map[string]string{"cpu": "96", "memory": "384Gi", "ephemeral-storage": "20Gi", "pods": "737", "aws.amazon.com/neuron": "6", "aws.amazon.com/neuroncore": "12"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHardware(Machine{}, testMachine(t, test.machine), userdata.Settings{Family: test.family}, test.overhead)
			if diff := cmp.Diff(test.capacity, amounts(h.capacity(test.settings))); diff != "" {
				t.Errorf("capacity (-want +got):\n%s", diff)
			}
			allocatable, err := h.allocatable(test.settings)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, amounts(allocatable)); diff != "" {
				t.Errorf("allocatable (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDisksAndAdapters(t *testing.T) {
	volumes := map[string]int32{"/dev/xvda": 4, "/dev/xvdb": 100, "/dev/sda1": 50}
	for name, tt := range map[string]struct {
		machine  string
		settings userdata.Settings
		efas     int32
		storage  int64
	}{
		"root volume":                {"m5.large", userdata.Settings{Family: userdata.AL2023}, 0, 4 * gib},
		"Bottlerocket's data volume": {"m5.large", userdata.Settings{Family: userdata.Bottlerocket}, 0, 100 * gib},
		"Windows":                    {"m5.large", userdata.Settings{Family: userdata.Windows}, 0, 50 * gib},
		"local disks":                {"g5.12xlarge", userdata.Settings{Family: userdata.AL2023, LocalDisks: "raid0"}, 0, 3800e9},
		"no local disks to join":     {"m5.large", userdata.Settings{Family: userdata.AL2023, LocalDisks: "raid0"}, 0, 4 * gib},
		"adapters":                   {"g5.12xlarge", userdata.Settings{Family: userdata.AL2023}, 1, 4 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHardware(Machine{Volumes: volumes, EFAs: tt.efas}, testMachine(t, tt.machine), tt.settings, 0)
			capacity := h.capacity(tt.settings.Kubelet)
			storage, adapters := capacity[corev1.ResourceEphemeralStorage], capacity["vpc.amazonaws.com/efa"]
			if storage.Value() != tt.storage || adapters.Value() != int64(tt.efas) {
				t.Errorf("storage = %d, adapters = %d, want %d and %d", storage.Value(), adapters.Value(), tt.storage, tt.efas)
			}
		})
	}
}

func TestAllocatableRefusesToReserveMoreThanThereIs(t *testing.T) {
	h := newHardware(Machine{}, testMachine(t, "m5.large"), userdata.Settings{Family: userdata.AL2023}, 0)
	_, err := h.allocatable(userdata.Kubelet{SystemReserved: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}})
	if err == nil || !strings.Contains(err.Error(), "more cpu is reserved") {
		t.Errorf("error = %v, want one about CPU", err)
	}
}

func TestReservedMilliCPU(t *testing.T) {
	for cpus, want := range map[int64]int64{1: 60, 2: 70, 4: 80, 8: 90, 16: 110, 96: 310} {
		if got := reservedMilliCPU(cpus); got != want {
			t.Errorf("reservedMilliCPU(%d) = %d, want %d", cpus, got, want)
		}
	}
}

func TestReadMachineTypesRefuses(t *testing.T) {
	for catalogue, want := range map[string]string{
		"":                         "it is empty",
		"name,vcpus\nm5.large,2\n": "no column \"memory_mib\"",
		strings.Replace(testCatalogue, "64,2,", "64,two,", 1):       "\"m5.large\": column \"vcpus\"",
		strings.Replace(testCatalogue, "m5.large,", "m5,large,", 1): "wrong number of fields",
	} {
		if _, err := readMachineTypes([]byte(catalogue)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("readMachineTypes error = %v, want %s", err, want)
		}
	}
}
