package kubevalue_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
)

func value(s string) kubevalue.Value { return kubevalue.Value{StringValue: types.StringValue(s)} }

func TestSemanticEquality(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"milli and decimal":         {"500m", "0.5", true},
		"kilo and thousand":         {"1k", "1000", true},
		"kibi is not kilo":          {"1Ki", "1k", false},
		"what is no quantity":       {"many", "few", false},
		"seconds and minutes":       {"90s", "1m30s", true},
		"different durations":       {"90s", "91s", false},
		"a quantity and a duration": {"90", "90s", false},
		"valid as both, and equal":  {"0.5m", "0.50m", true},
		"valid as both, and not":    {"5m", "50m", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, diags := value(tt.a).StringSemanticEquals(t.Context(), value(tt.b))
			if got != tt.want || diags.HasError() {
				t.Errorf("%s and %s: equal = %v (%v), want %v", tt.a, tt.b, got, diags, tt.want)
			}
		})
	}
}

func TestKeepSpellingOfMaps(t *testing.T) {
	amounts := func(cpu, memory string) types.Map {
		return types.MapValueMust(kubevalue.Type{}, map[string]attr.Value{"cpu": value(cpu), "memory": value(memory)})
	}
	tests := map[string]struct{ state, config, want types.Map }{
		"same meaning":      {amounts("1000", "1Gi"), amounts("1k", "1024Mi"), amounts("1000", "1Gi")},
		"one entry differs": {amounts("1000", "1Gi"), amounts("1k", "2Gi"), amounts("1k", "2Gi")},
		"no state":          {types.MapNull(kubevalue.Type{}), amounts("1k", "2Gi"), amounts("1k", "2Gi")},
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
