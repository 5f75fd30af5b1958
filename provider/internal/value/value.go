// Package value converts between values of the plugin framework and values of Go.
package value

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// TextOf returns the text of a string of any string type. It is empty if the value is null, unknown or not a
// string.
func TextOf(v attr.Value) string {
	if s, ok := v.(basetypes.StringValuable); ok {
		if text, diags := s.ToStringValue(context.Background()); !diags.HasError() {
			return text.ValueString()
		}
	}
	return ""
}

// Fields returns the attributes of an object that are strings and not null.
func Fields(o types.Object) map[string]string {
	out := map[string]string{}
	for name, value := range o.Attributes() {
		if s, ok := value.(types.String); ok && !s.IsNull() {
			out[name] = s.ValueString()
		}
	}
	return out
}

// Map returns a map of strings, which is empty for nil.
func Map(elements map[string]string) types.Map {
	values := make(map[string]attr.Value, len(elements))
	for key, e := range elements {
		values[key] = types.StringValue(e)
	}
	return types.MapValueMust(types.StringType, values)
}

// valueString is implemented by strings of the framework and of custom types.
type valueString interface{ ValueString() string }

// Strings returns the elements of a map of strings that are not null, never nil.
func Strings(m types.Map) map[string]string {
	out := make(map[string]string, len(m.Elements()))
	for key, value := range m.Elements() {
		if !value.IsNull() {
			out[key] = value.(valueString).ValueString()
		}
	}
	return out
}

// Elements returns the elements of a set of strings that are not null, sorted.
func Elements(s types.Set) []string { return slices.Sorted(slices.Values(given(s.Elements()))) }

// Listed returns the elements of a list of strings that are not null.
func Listed(l types.List) []string { return given(l.Elements()) }

func given(elements []attr.Value) []string {
	var out []string
	for _, value := range elements {
		if !value.IsNull() {
			out = append(out, value.(valueString).ValueString())
		}
	}
	return out
}

// FullyKnown reports whether a value has no unknown part.
func FullyKnown(ctx context.Context, v attr.Value) bool {
	raw, err := v.ToTerraformValue(ctx)
	return err == nil && raw.IsFullyKnown()
}

// Declared returns the live value of a string. If that is empty, a prior null stays null.
func Declared(prior types.String, live string) types.String {
	if prior.ValueString() == "" && live == "" {
		return prior
	}
	return types.StringValue(live)
}

// TextOrNull returns null for an empty string.
func TextOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// List returns a list of strings, which is empty for nil.
func List(elements []string) types.List {
	return types.ListValueMust(types.StringType, texts(elements))
}

// Set returns a set of strings, which is empty for nil.
func Set(elements []string) types.Set { return types.SetValueMust(types.StringType, texts(elements)) }

func texts(elements []string) []attr.Value {
	out := make([]attr.Value, len(elements))
	for i, e := range elements {
		out[i] = types.StringValue(e)
	}
	return out
}
