package kubevalue_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
)

func quantity(s string) kubevalue.Quantity {
	return kubevalue.Quantity{StringValue: types.StringValue(s)}
}

func duration(s string) kubevalue.Duration {
	return kubevalue.Duration{StringValue: types.StringValue(s)}
}

func TestSemanticEquality(t *testing.T) {
	tests := map[string]struct {
		a, b basetypes.StringValuableWithSemanticEquals
		want bool
	}{
		"milli and decimal":     {quantity("500m"), quantity("0.5"), true},
		"kilo and thousand":     {quantity("1k"), quantity("1000"), true},
		"kibi is not kilo":      {quantity("1Ki"), quantity("1k"), false},
		"what is no quantity":   {quantity("many"), quantity("few"), false},
		"seconds and minutes":   {duration("90s"), duration("1m30s"), true},
		"different durations":   {duration("90s"), duration("91s"), false},
		"quantity and duration": {quantity("1m"), duration("1m"), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, diags := tt.a.StringSemanticEquals(t.Context(), tt.b)
			if got != tt.want || diags.HasError() {
				t.Errorf("%s and %s: equal = %v (%v), want %v", tt.a, tt.b, got, diags, tt.want)
			}
		})
	}
}

func TestKeepSpellingOfMaps(t *testing.T) {
	amounts := func(cpu, memory string) types.Map {
		return types.MapValueMust(kubevalue.QuantityType{}, map[string]attr.Value{"cpu": quantity(cpu), "memory": quantity(memory)})
	}
	tests := map[string]struct{ state, config, want types.Map }{
		"same meaning":      {amounts("1000", "1Gi"), amounts("1k", "1024Mi"), amounts("1000", "1Gi")},
		"one entry differs": {amounts("1000", "1Gi"), amounts("1k", "2Gi"), amounts("1k", "2Gi")},
		"no state":          {types.MapNull(kubevalue.QuantityType{}), amounts("1k", "2Gi"), amounts("1k", "2Gi")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			resp := planmodifier.MapResponse{PlanValue: tt.config}
			req := planmodifier.MapRequest{StateValue: tt.state, ConfigValue: tt.config, PlanValue: tt.config}
			kubevalue.KeepSpelling{}.PlanModifyMap(t.Context(), req, &resp)
			if !resp.PlanValue.Equal(tt.want) {
				t.Errorf("plan = %s, want %s", resp.PlanValue, tt.want)
			}
		})
	}
}

func TestKeepSpellingOfStrings(t *testing.T) {
	tests := map[string]struct{ state, config, want string }{
		"same quantity":    {"20Gi", "20480Mi", "20Gi"},
		"same duration":    {"90s", "1m30s", "90s"},
		"another quantity": {"20Gi", "21Gi", "21Gi"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			config := types.StringValue(tt.config)
			resp := planmodifier.StringResponse{PlanValue: config}
			req := planmodifier.StringRequest{StateValue: types.StringValue(tt.state), ConfigValue: config, PlanValue: config}
			kubevalue.KeepSpelling{}.PlanModifyString(t.Context(), req, &resp)
			if got := resp.PlanValue.ValueString(); got != tt.want {
				t.Errorf("plan = %q, want %q", got, tt.want)
			}
		})
	}
}
