package provider

import (
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// unremarkable reports whether the framework has nothing to say about a
// configuration, going by the schema alone. It is careful: false means to ask it. A
// text with a minus sign is left to UnsignedZero, the one validator in use.
func unremarkable(s schema.Schema, config tftypes.Value) bool {
	set := attributesOf(config, nil)
	for name := range s.Blocks {
		if !set[name].IsNull() {
			return false
		}
	}
	return unremarkableObject(s.Attributes, set)
}

func unremarkableObject(declared attributes, set map[string]tftypes.Value) bool {
	for name, attribute := range declared {
		v := set[name]
		if v.IsNull() {
			if attribute.IsRequired() {
				return false
			}
			continue
		}
		if !attribute.IsRequired() && !attribute.IsOptional() || !unremarkableValue(attribute, v) {
			return false
		}
	}
	return true
}

func unremarkableValue(attribute schema.Attribute, v tftypes.Value) bool {
	switch attribute := attribute.(type) {
	case schema.BoolAttribute, schema.Int64Attribute, schema.ListAttribute:
		return true
	case schema.StringAttribute:
		return !negative(v)
	case schema.MapAttribute:
		var entries map[string]tftypes.Value
		err := v.As(&entries)
		for _, entry := range entries {
			if negative(entry) {
				return false
			}
		}
		return err == nil
	case schema.SingleNestedAttribute:
		return unremarkableObject(attribute.Attributes, attributesOf(v, nil))
	case schema.ListNestedAttribute:
		var elements []tftypes.Value
		err := v.As(&elements)
		for _, element := range elements {
			if element.IsNull() || !unremarkableObject(attribute.NestedObject.Attributes, attributesOf(element, nil)) {
				return false
			}
		}
		return err == nil
	}
	return false
}

func negative(v tftypes.Value) bool {
	var text string
	return v.As(&text) != nil || strings.HasPrefix(text, "-")
}

var errNoValue = errors.New("no value")

func unmarshal(v *tfprotov6.DynamicValue, typ tftypes.Type) (tftypes.Value, error) {
	if v == nil {
		return tftypes.Value{}, errNoValue
	}
	return v.Unmarshal(typ)
}

// identityType is that of nameIdentity.
var identityType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"name": tftypes.String}}

// identityData is an identity in the wire protocol.
func identityData(v tftypes.Value) *tfprotov6.ResourceIdentityData {
	raw, err := tfprotov6.NewDynamicValue(identityType, v)
	if err != nil {
		panic("an identity of another type: " + err.Error())
	}
	return &tfprotov6.ResourceIdentityData{IdentityData: &raw}
}

func identityOfName(name string) tftypes.Value {
	return tftypes.NewValue(identityType, map[string]tftypes.Value{"name": tftypes.NewValue(tftypes.String, name)})
}

// told are diagnostics in the wire protocol.
func told(diags diag.Diagnostics) (out []*tfprotov6.Diagnostic) {
	for _, d := range diags {
		one := &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityWarning, Summary: d.Summary(), Detail: d.Detail()}
		if d.Severity() == diag.SeverityError {
			one.Severity = tfprotov6.DiagnosticSeverityError
		}
		if at, ok := d.(diag.DiagnosticWithPath); ok {
			one.Attribute = attributePath(at.Path())
		}
		out = append(out, one)
	}
	return out
}

func attributePath(p path.Path) *tftypes.AttributePath {
	out := tftypes.NewAttributePath()
	for _, step := range p.Steps() {
		switch step := step.(type) {
		case path.PathStepAttributeName:
			out = out.WithAttributeName(string(step))
		case path.PathStepElementKeyInt:
			out = out.WithElementKeyInt(int(step))
		case path.PathStepElementKeyString:
			out = out.WithElementKeyString(string(step))
		}
	}
	return out
}
