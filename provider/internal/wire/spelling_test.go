package wire_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/wire"
)

// Only what the schema compares by its meaning is spelt as before.
func TestSpeltAs(t *testing.T) {
	s := schema.Schema{Attributes: map[string]schema.Attribute{
		"labels": schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"limits": schema.MapAttribute{Optional: true, ElementType: kubevalue.Type{}},
		"devices": schema.ListNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"size": schema.StringAttribute{Optional: true, CustomType: kubevalue.Type{}},
		}}},
	}}
	typ := wire.TypeOf(t.Context(), s)
	// model has one label, one limit, and devices of the sizes.
	model := func(label, limit string, sizes ...string) *wire.Model {
		device := typ.AttributeTypes["devices"].(tftypes.List).ElementType
		var devices []tftypes.Value
		for _, size := range sizes {
			devices = append(devices, tftypes.NewValue(device, map[string]tftypes.Value{"size": text(size)}))
		}
		one := func(value string) tftypes.Value {
			return tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"a": text(value)})
		}
		return wire.ModelOf(tftypes.NewValue(typ, map[string]tftypes.Value{
			"labels": one(label), "limits": one(limit), "devices": tftypes.NewValue(typ.AttributeTypes["devices"], devices),
		}))
	}
	state := model("1.0", "1.5", "20Gi")
	for name, c := range map[string]struct{ live, want *wire.Model }{
		"the same":        {model("1.0", "1.5", "20Gi"), state},
		"spelt otherwise": {model("1.0", "1500m", "20480Mi"), state},
		"another label":   {model("1", "1500m", "20480Mi"), model("1", "1.5", "20Gi")},
		"another amount":  {model("1.0", "1500m", "21Gi"), model("1.0", "1.5", "21Gi")},
		"one device more": {model("1.0", "2", "20480Mi", "1Gi"), model("1.0", "2", "20Gi", "1Gi")},
		"one device less": {model("1.0", "1500m"), model("1.0", "1.5")},
	} {
		got, err := c.live.SpeltAs(t.Context(), state, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for attribute := range typ.AttributeTypes {
			if !got.Attribute(attribute).Equal(c.want.Attribute(attribute)) {
				t.Errorf("%s: %s = %s, want %s", name, attribute, got.Attribute(attribute), c.want.Attribute(attribute))
			}
		}
	}
}
