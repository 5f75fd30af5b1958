package kubevalue

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
)

// UnsignedZero is a validator for quantities, durations and maps of them. It refuses a zero with a
// minus sign, which the API server considers negative. The rules of the API report other negative
// values.
type UnsignedZero struct{}

var (
	_ validator.String = UnsignedZero{}
	_ validator.Map    = UnsignedZero{}
)

// Description says what the validator requires.
func (UnsignedZero) Description(context.Context) string { return "A zero has no sign." }

// MarkdownDescription says what the validator requires.
func (u UnsignedZero) MarkdownDescription(ctx context.Context) string { return u.Description(ctx) }

// ValidateString checks one value.
func (UnsignedZero) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	checkSign(req.ConfigValue.ValueString(), req.Path, &resp.Diagnostics)
}

// ValidateMap checks each value of a map.
func (UnsignedZero) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	for key, element := range req.ConfigValue.Elements() {
		if text, ok := element.(interface{ ValueString() string }); ok {
			checkSign(text.ValueString(), req.Path.AtMapKey(key), &resp.Diagnostics)
		}
	}
}

func checkSign(text string, at path.Path, diags *diag.Diagnostics) {
	q, notQuantity := amount.Parse(text)
	length, notDuration := time.ParseDuration(text)
	zero := notQuantity == nil && q.IsZero() || notDuration == nil && length == 0
	if zero && strings.HasPrefix(text, "-") {
		diags.AddAttributeError(at, at.String()+`: Invalid value: "`+text+`": must not be negative`, "The nearest valid value is 0.")
	}
}
