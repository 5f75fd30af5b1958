package stock

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// EC2 says how many cores a Neuron device has, also of one that the embedded table does not know.
func TestNeuronDevices(t *testing.T) {
	got := hardwareOf(&types.InstanceTypeInfo{
		InstanceType: "trn9.48xlarge",
		NeuronInfo: &types.NeuronInfo{NeuronDevices: []types.NeuronDeviceInfo{{
			Name: awssdk.String("Trainium9"), Count: awssdk.Int32(16), CoreInfo: &types.NeuronDeviceCoreInfo{Count: awssdk.Int32(8)},
		}}},
	}).Accelerator
	if diff := cmp.Diff(&offer.Accelerator{Name: "Trainium9", Manufacturer: "AWS", Count: 16, Cores: 8}, got); diff != "" {
		t.Errorf("devices (-want +got):\n%s", diff)
	}
}

// EC2 says which interfaces each network card takes.
func TestDefaultCardWithoutAdapters(t *testing.T) {
	const ena, efa = types.NetworkCardInterfaceTypeInterface, types.NetworkCardInterfaceTypeEfa
	for name, tt := range map[string]struct {
		first []types.NetworkCardInterfaceType
		want  bool
	}{
		"p6-b300.48xlarge": {[]types.NetworkCardInterfaceType{ena}, true},
		"p5.48xlarge":      {[]types.NetworkCardInterfaceType{ena, efa}, false},
		"not said":         {nil, false},
	} {
		got := hardwareOf(&types.InstanceTypeInfo{InstanceType: types.InstanceType("p6-b300.48xlarge"), NetworkInfo: &types.NetworkInfo{
			EfaInfo: &types.EfaInfo{MaximumEfaInterfaces: awssdk.Int32(16)},
			NetworkCards: []types.NetworkCardInfo{
				{NetworkCardIndex: awssdk.Int32(0), InterfaceTypes: tt.first},
				{NetworkCardIndex: awssdk.Int32(1), InterfaceTypes: []types.NetworkCardInterfaceType{efa}},
			},
		}})
		if got.NoEFAOnDefaultCard != tt.want {
			t.Errorf("%s: %t, want %t", name, got.NoEFAOnDefaultCard, tt.want)
		}
	}
}

// The disks of old types are no NVMe disks: no label counts them, and nothing joins them.
func TestLocalDisks(t *testing.T) {
	for support, want := range map[types.EphemeralNvmeSupport]int64{
		types.EphemeralNvmeSupportUnsupported: 0, types.EphemeralNvmeSupportSupported: 6144, types.EphemeralNvmeSupportRequired: 6144,
	} {
		got := hardwareOf(&types.InstanceTypeInfo{InstanceType: "d2.xlarge", InstanceStorageInfo: &types.InstanceStorageInfo{
			TotalSizeInGB: awssdk.Int64(6144), NvmeSupport: support,
		}}).LocalNVMeGB
		if got != want {
			t.Errorf("%s: %d GB, want %d", support, got, want)
		}
	}
}
