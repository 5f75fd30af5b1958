package provider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// TestUnchangedPlans asks the plugin framework for what the server answers by
// itself: it must be the same.
func TestUnchangedPlans(t *testing.T) {
	ours := NewServer(New("test", nil)())()
	frameworks := providerserver.NewProtocol6(New("test", nil)())()
	for typeName, set := range map[string]map[string]tftypes.Value{
		"packhorse_provisioner": {
			"name":   tftypes.NewValue(tftypes.String, "default"),
			"weight": tftypes.NewValue(tftypes.Number, 3),
			"labels": tftypes.NewValue(tftypes.Map{ElementType: tftypes.String}, map[string]tftypes.Value{"team": tftypes.NewValue(tftypes.String, "a")}),
		},
		"packhorse_node_profile": {"name": tftypes.NewValue(tftypes.String, "default")},
	} {
		t.Run(typeName, func(t *testing.T) {
			typ := schemas(t).ResourceSchemas[typeName].ValueType().(tftypes.Object)
			config := dynamic(t, withAttributes(nothing(typ), set))
			created, err := frameworks.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
				TypeName: typeName, PriorState: dynamic(t, tftypes.NewValue(typ, nil)), ProposedNewState: config, Config: config,
			})
			if err != nil || len(created.Diagnostics) > 0 {
				t.Fatal(err, created)
			}
			state := dynamic(t, applied(t, created.PlannedState, typ))
			request := &tfprotov6.PlanResourceChangeRequest{
				TypeName: typeName, PriorState: state, ProposedNewState: state, Config: config, PriorPrivate: created.PlannedPrivate,
			}
			want, err := frameworks.PlanResourceChange(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ours.PlanResourceChange(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.PlannedState, got.PlannedState); diff != "" {
				t.Errorf("planned state, the framework's first:\n%s", diff)
			}
			if len(want.Diagnostics)+len(want.RequiresReplace) > 0 || want.Deferred != nil {
				t.Errorf("the framework answers more than a state: %+v", want)
			}
			if !unchanged(request) {
				t.Error("the server has asked the framework too")
			}
		})
	}
}

// nothing is an object all of whose attributes are null.
func nothing(typ tftypes.Object) tftypes.Value {
	null := map[string]tftypes.Value{}
	for name, attribute := range typ.AttributeTypes {
		null[name] = tftypes.NewValue(attribute, nil)
	}
	return tftypes.NewValue(typ, null)
}

func dynamic(t *testing.T, v tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()
	out, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		t.Fatal(err)
	}
	return &out
}

// applied is a planned state whose open attributes have become null.
func applied(t *testing.T, planned *tfprotov6.DynamicValue, typ tftypes.Object) tftypes.Value {
	t.Helper()
	v, err := planned.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	v, err = tftypes.Transform(v, func(_ *tftypes.AttributePath, inner tftypes.Value) (tftypes.Value, error) {
		if inner.IsKnown() {
			return inner, nil
		}
		return tftypes.NewValue(inner.Type(), nil), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}
