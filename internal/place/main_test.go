package place

import (
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/propertytest"
)

func TestMain(m *testing.M) { propertytest.Main(m) }
