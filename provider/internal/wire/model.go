package wire

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Model is a whole resource whose attributes only the schema names, such as a custom resource with many
// fields. Plan.Get and State.Set of the plugin framework convert it like a struct with tfsdk tags. Get takes a
// pointer to a *Model.
type Model struct{ value tftypes.Value }

var (
	_ tftypes.ValueConverter = &Model{}
	_ tftypes.ValueCreator   = &Model{}
)

// FromTerraform5Value implements [tftypes.ValueConverter].
func (m *Model) FromTerraform5Value(v tftypes.Value) error {
	m.value = v
	return nil
}

// ToTerraform5Value implements [tftypes.ValueCreator].
func (m *Model) ToTerraform5Value() (any, error) { return m.attributes(), nil }

// NewModel returns a resource of the type in which only the name is set.
func NewModel(typ tftypes.Object, name string) *Model {
	attributes := make(map[string]tftypes.Value, len(typ.AttributeTypes))
	for attribute, t := range typ.AttributeTypes {
		attributes[attribute] = tftypes.NewValue(t, nil)
	}
	attributes["name"] = tftypes.NewValue(tftypes.String, name)
	return &Model{tftypes.NewValue(typ, attributes)}
}

// ModelOf returns the resource with a value, which must be a known object.
func ModelOf(v tftypes.Value) *Model { return &Model{v} }

// Type returns the type of the resource.
func (m *Model) Type() tftypes.Object { return m.value.Type().(tftypes.Object) }

// Name returns the attribute name, empty while it is unknown or not set.
func (m *Model) Name() (name string) {
	if v := m.Attribute("name"); v.IsKnown() {
		_ = v.As(&name) // fails only for other types
	}
	return name
}

// Attribute returns the value of an attribute of the schema.
func (m *Model) Attribute(name string) tftypes.Value { return m.attributes()[name] }

// With returns a copy with other values of some attributes.
func (m *Model) With(ctx context.Context, values map[string]attr.Value) *Model {
	return m.change(func(all map[string]tftypes.Value) {
		for name, v := range values {
			raw, err := v.ToTerraformValue(ctx)
			if err != nil {
				panic("the value of " + name + " cannot be converted: " + err.Error())
			}
			all[name] = raw
		}
	})
}

// Without returns a copy in which the attributes are null.
func (m *Model) Without(names ...string) *Model {
	return m.change(func(all map[string]tftypes.Value) {
		for _, name := range names {
			all[name] = tftypes.NewValue(all[name].Type(), nil)
		}
	})
}

// Keep returns a copy with the attributes as another model of the type has them.
func (m *Model) Keep(other *Model, names ...string) *Model {
	return m.change(func(all map[string]tftypes.Value) {
		for _, name := range names {
			all[name] = other.Attribute(name)
		}
	})
}

func (m *Model) change(alter func(map[string]tftypes.Value)) *Model {
	all := m.attributes()
	alter(all)
	return &Model{tftypes.NewValue(m.value.Type(), all)}
}

func (m *Model) attributes() map[string]tftypes.Value { return Attributes(m.value) }

// EncodeModel is Encode for a whole resource.
func (c Codec) EncodeModel(m *Model) (*Document, error) { return c.Encode(m.value) }

// DecodeModel converts live JSON fields to a resource: all of them, or only those that the state declares. The
// local attributes keep their values from the state.
func (c Codec) DecodeModel(fields map[string]any, state *Model, all bool) (*Model, error) {
	now, err := c.Decode(fields, state.Type())
	if err != nil {
		return nil, err
	}
	if !all {
		now = Merge(state.value, now)
	}
	return (&Model{now}).Keep(state, c.Local...), nil
}

// SpeltAs returns a copy in which each text that means the same to the schema as in another model of the type is
// spelt as there. The plugin framework does so with what a refresh returns.
func (m *Model) SpeltAs(ctx context.Context, other *Model, s schema) (*Model, error) {
	value, err := tftypes.Transform(m.value, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		found, missing, _ := tftypes.WalkAttributePath(other.value, at)
		before, ok := found.(tftypes.Value)
		if !ok || len(missing.Steps()) > 0 || !v.Type().Is(tftypes.String) {
			return v, nil // the other model has no such text
		}
		typ, err := s.TypeAtTerraformPath(ctx, at)
		if err != nil {
			return v, err
		}
		was, err := typ.ValueFromTerraform(ctx, before)
		if err != nil {
			return v, err
		}
		is, err := typ.ValueFromTerraform(ctx, v)
		if err != nil {
			return v, err
		}
		if text, ok := was.(basetypes.StringValuableWithSemanticEquals); ok {
			if same, _ := text.StringSemanticEquals(ctx, is.(basetypes.StringValuable)); same {
				return before, nil
			}
		}
		return v, nil
	})
	return &Model{value}, err
}

// TypeOf returns the type of the values of a schema.
func TypeOf(ctx context.Context, s schema) tftypes.Object {
	return s.Type().TerraformType(ctx).(tftypes.Object)
}

// schema is implemented by the schemas of the plugin framework.
type schema interface {
	Type() attr.Type
	TypeAtTerraformPath(context.Context, *tftypes.AttributePath) (attr.Type, error)
}
