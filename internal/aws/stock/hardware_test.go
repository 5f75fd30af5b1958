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
