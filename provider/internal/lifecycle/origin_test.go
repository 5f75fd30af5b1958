package lifecycle_test

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/lifecycle"
)

func TestIsProvider(t *testing.T) {
	for address, want := range map[string]bool{
		"registry.terraform.io/hashicorp/aws": true, "registry.opentofu.org/hashicorp/aws": true, "aws": true,
		"registry.terraform.io/other/aws": false, "registry.terraform.io/nothashicorp/aws": false, "notaws": false, "": false,
	} {
		if got := lifecycle.IsProvider(address, "hashicorp/aws"); got != want {
			t.Errorf("%q is hashicorp/aws: %v, want %v", address, got, want)
		}
	}
}
