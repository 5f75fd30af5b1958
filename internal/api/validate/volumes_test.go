package validate

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// What a volume of an EC2NodeClass leaves out is that of the image, which may have more IOPS than the default.
func TestRatiosOfWhatAClassLeavesOut(t *testing.T) {
	size := resource.MustParse("100Gi")
	for name, c := range map[string]struct {
		volume  api.BlockDevice
		refused bool
	}{
		"iops":           {api.BlockDevice{VolumeSize: &size, VolumeType: new("gp3"), Throughput: new(int64(1000))}, false},
		"type":           {api.BlockDevice{VolumeSize: &size, IOPS: new(int64(80000))}, false},
		"neither of two": {api.BlockDevice{VolumeSize: &size, VolumeType: new("gp3"), IOPS: new(int64(80000))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			profile := &api.NodeProfile{Class: &api.ClassTerms{}, BlockDeviceMappings: []api.BlockDeviceMapping{{DeviceName: new("/dev/xvda"), EBS: &c.volume}}}
			if found := nodeProfileErrors(profile, field.NewPath("spec")); len(found) > 0 != c.refused {
				t.Errorf("refused: %t, want %t: %v", len(found) > 0, c.refused, found.Lines())
			}
		})
	}
}
