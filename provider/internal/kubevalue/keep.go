package kubevalue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// KeepSpelling is a plan modifier for strings and maps of strings. It keeps the state's spelling of a
// value that means the same, so that there is no change.
type KeepSpelling struct{}

var (
	_ planmodifier.String = KeepSpelling{}
	_ planmodifier.Map    = KeepSpelling{}
)

// Description says what the modifier does.
func (KeepSpelling) Description(context.Context) string {
	return "A value that means the same as before is not a change."
}

// MarkdownDescription says what the modifier does.
func (k KeepSpelling) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

// PlanModifyString keeps the state's spelling of an equal value.
func (KeepSpelling) PlanModifyString(_ context.Context, req planmodifier.StringRequest, resp *planmodifier.StringResponse) {
	if req.StateValue.IsNull() || req.ConfigValue.IsNull() || req.PlanValue.IsUnknown() {
		return
	}
	if same(req.StateValue.ValueString(), req.PlanValue.ValueString()) {
		resp.PlanValue = req.StateValue
	}
}

// PlanModifyMap keeps the state's spelling if all entries are equal.
func (KeepSpelling) PlanModifyMap(ctx context.Context, req planmodifier.MapRequest, resp *planmodifier.MapResponse) {
	if req.StateValue.IsNull() || req.ConfigValue.IsNull() || req.PlanValue.IsUnknown() {
		return
	}
	before, after := req.StateValue.Elements(), req.PlanValue.Elements()
	if len(before) != len(after) {
		return
	}
	for key, value := range after {
		same, diags := sameMeaning(ctx, before[key], value)
		resp.Diagnostics.Append(diags...)
		if !same {
			return
		}
	}
	resp.PlanValue = req.StateValue
}

func sameMeaning(ctx context.Context, a, b attr.Value) (bool, diag.Diagnostics) {
	x, ok := a.(basetypes.StringValuableWithSemanticEquals)
	if !ok {
		return false, nil
	}
	y, ok := b.(basetypes.StringValuable)
	if !ok || b.IsUnknown() || b.IsNull() {
		return false, nil
	}
	return x.StringSemanticEquals(ctx, y)
}
