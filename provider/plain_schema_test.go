package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/provider/internal/kubevalue"
)

// TestPlainKnowsItsSchemas fails for what a schema may come to ask of the framework
// that plain does not know of.
func TestPlainKnowsItsSchemas(t *testing.T) {
	for _, k := range []kind{provisioner{}, nodeProfile{}} {
		declared := k.schema(t.Context())
		if len(declared.Blocks) != 1 || declared.Blocks["timeouts"] == nil {
			t.Errorf("%s: plain leaves the block timeouts to the framework, and knows no other: %v", k.title(), declared.Blocks)
		}
		wantKnown(t, k.title(), declared.Attributes, false)
	}
}

func wantKnown(t *testing.T, at string, declared attributes, computed bool) {
	t.Helper()
	for name, attribute := range declared {
		path := at + "." + name
		inner := computed
		if root := at == "provisioner"; attribute.IsComputed() && !attribute.IsOptional() && (root || computed) {
			inner = true
		} else if attribute.IsComputed() {
			t.Errorf("%s is computed: only root attributes may be, and are not optional then", path)
		}
		if attribute.GetDeprecationMessage() != "" || attribute.IsWriteOnly() {
			t.Errorf("%s: plain knows no deprecated or write-only attributes", path)
		}
		switch a := attribute.(type) {
		case schema.SingleNestedAttribute:
			wantNone(t, path, len(a.Validators), len(a.PlanModifiers), a.CustomType != nil, a.Default != nil)
			wantKnown(t, path, a.Attributes, inner)
		case schema.ListNestedAttribute:
			wantNone(t, path, len(a.Validators)+len(a.NestedObject.Validators), len(a.PlanModifiers)+len(a.NestedObject.PlanModifiers), a.CustomType != nil, a.Default != nil)
			wantKnown(t, path, a.NestedObject.Attributes, inner)
		case schema.StringAttribute:
			wantSpelling(t, path, a.Validators, kubevalue.UnsignedZero{})
			if name != "name" {
				wantSpelling(t, path, a.PlanModifiers, kubevalue.KeepSpelling{})
			}
			wantNone(t, path, 0, 0, false, a.Default != nil)
		case schema.MapAttribute:
			wantSpelling(t, path, a.Validators, kubevalue.UnsignedZero{})
			wantSpelling(t, path, a.PlanModifiers, kubevalue.KeepSpelling{})
			wantNone(t, path, 0, 0, a.CustomType != nil, a.Default != nil)
		case schema.ListAttribute:
			wantNone(t, path, len(a.Validators), len(a.PlanModifiers), a.CustomType != nil, a.Default != nil)
		case schema.BoolAttribute:
			wantNone(t, path, len(a.Validators), len(a.PlanModifiers), a.CustomType != nil, a.Default != nil)
		case schema.Int64Attribute:
			wantNone(t, path, len(a.Validators), len(a.PlanModifiers), a.CustomType != nil, a.Default != nil)
		default:
			if !computed {
				t.Errorf("%s: plain does not know a %T", path, a)
			}
		}
	}
}

func wantNone(t *testing.T, at string, validators, modifiers int, custom, defaulted bool) {
	t.Helper()
	if validators+modifiers > 0 || custom || defaulted {
		t.Errorf("%s has validators, plan modifiers, a type of its own or a default, which plain does not know", at)
	}
}

// wantSpelling fails for all but those of quantities and durations.
func wantSpelling[V any](t *testing.T, at string, all []V, known any) {
	t.Helper()
	for _, v := range all {
		if any(v) != known {
			t.Errorf("%s: plain does not know a %T", at, v)
		}
	}
}

// TestPlainLeavesToTheFramework lists what has more to it than plain knows.
func TestPlainLeavesToTheFramework(t *testing.T) {
	p := newPlain(provisioner{})
	typ := p.load().typ
	text := func(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }
	limits := func(cpu string) tftypes.Value {
		return tftypes.NewValue(typ.AttributeTypes["limits"], map[string]tftypes.Value{"cpu": text(cpu)})
	}
	of := func(name string, set map[string]tftypes.Value) tftypes.Value {
		return withAttributes(nothing(typ.AttributeTypes[name].(tftypes.Object)), set)
	}
	list := func(name string, element tftypes.Value) tftypes.Value {
		return tftypes.NewValue(typ.AttributeTypes[name], []tftypes.Value{element})
	}
	taint := typ.AttributeTypes["taints"].(tftypes.List).ElementType.(tftypes.Object)
	for title, set := range map[string]map[string]tftypes.Value{
		"no name":            {"name": tftypes.NewValue(tftypes.String, nil)},
		"unknown":            {"pod_binding": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)},
		"partly unknown":     {"limits": tftypes.NewValue(typ.AttributeTypes["limits"], map[string]tftypes.Value{"cpu": tftypes.NewValue(tftypes.String, tftypes.UnknownValue)})},
		"negative":           {"limits": limits("-0")},
		"negative, nested":   {"disruption": of("disruption", map[string]tftypes.Value{"consolidate_after": text("-0s")})},
		"computed":           {planPreview: nothing(typ.AttributeTypes[planPreview].(tftypes.Object))},
		"timeouts":           {"timeouts": of("timeouts", map[string]tftypes.Value{"create": text("5m")})},
		"no key of a taint":  {"taints": list("taints", nothing(taint))},
		"no taint where due": {"taints": list("taints", tftypes.NewValue(taint, nil))},
		"no name of the ref": {"provider_ref": of("provider_ref", nil)},
	} {
		config := withAttributes(nothing(typ), map[string]tftypes.Value{"name": text("default"), "limits": limits("100")})
		if p.validate(&tfprotov6.ValidateResourceConfigRequest{Config: dynamic(t, config)}) == nil {
			t.Fatal("not even a usual configuration is answered")
		}
		raw := dynamic(t, withAttributes(config, set))
		if p.validate(&tfprotov6.ValidateResourceConfigRequest{Config: raw}) != nil {
			t.Errorf("%s: validated without the framework", title)
		}
		none := dynamic(t, tftypes.NewValue(typ, nil))
		if p.create(t.Context(), nil, &tfprotov6.PlanResourceChangeRequest{PriorState: none, Config: raw, ProposedNewState: raw}) != nil {
			t.Errorf("%s: planned without the framework", title)
		}
	}
}
