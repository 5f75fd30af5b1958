package lookup

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// A pinned release is looked up under its own name in each family.
func TestPinnedTo(t *testing.T) {
	for family, want := range map[string]string{
		api.FamilyAL2:          "/aws/service/eks/optimized-ami/1.33/amazon-linux-2-arm64/amazon-eks-arm64-node-1.33-v1.2/image_id",
		api.FamilyAL2023:       "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard/amazon-eks-node-al2023-arm64-standard-1.33-v1.2/image_id",
		api.FamilyBottlerocket: "/aws/service/bottlerocket/aws-k8s-1.33/arm64/1.2/image_id",
	} {
		if got := pinnedTo("v1.2", "1.33", parametersOf(family, "1.33"))[1].name; got != want {
			t.Errorf("%s: %s, want %s", family, got, want)
		}
	}
}
