package lifecycle

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// A negative limit would fail every operation before it begins. 0 means no limit.
func TestTimeoutsAreNotNegative(t *testing.T) {
	block := TimeoutsBlock(t.Context(), timeouts.Opts{Create: true, Delete: true})["timeouts"].(schema.SingleNestedBlock)
	for _, name := range []string{"create", "delete"} {
		for limit, wrong := range map[string]bool{"-5m": true, "0s": false, "5m": false, "soon": true} {
			resp := &validator.StringResponse{}
			for _, v := range block.Attributes[name].(schema.StringAttribute).Validators {
				v.ValidateString(t.Context(), validator.StringRequest{ConfigValue: types.StringValue(limit)}, resp)
			}
			if got := resp.Diagnostics.ErrorsCount(); got > 1 || (got == 1) != wrong {
				t.Errorf("%s = %q: %v, want an error: %v", name, limit, resp.Diagnostics, wrong)
			}
		}
	}
}
