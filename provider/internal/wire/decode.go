package wire

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Decode converts a JSON object to a value of the type. It ignores fields without an attribute. Absent
// fields, empty lists and strings, and the local attributes become null. A number becomes a string if the
// type requires that, because manifests may write quantities either way.
func (c Codec) Decode(fields map[string]any, typ tftypes.Object) (tftypes.Value, error) {
	return c.decodeObject(fields, typ, "")
}

func (c Codec) decode(in any, typ tftypes.Type, at string) (tftypes.Value, error) {
	if in == nil {
		return tftypes.NewValue(typ, nil), nil
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		fields, ok := in.(map[string]any)
		if !ok {
			return mismatch(in, typ, at)
		}
		return c.decodeObject(fields, typ, at)
	case tftypes.Map:
		return c.decodeMap(in, typ, at)
	case tftypes.List:
		return c.decodeList(in, typ, at)
	}
	return decodeScalar(in, typ, at)
}

func (c Codec) decodeObject(fields map[string]any, typ tftypes.Object, at string) (tftypes.Value, error) {
	attributes := make(map[string]tftypes.Value, len(typ.AttributeTypes))
	for name, t := range typ.AttributeTypes {
		attributes[name] = tftypes.NewValue(t, nil)
	}
	for _, name := range c.attributes(typ, at == "") {
		path := c.Field(name)
		field, _, _ := unstructured.NestedFieldNoCopy(fields, path...)
		value, err := c.decode(field, typ.AttributeTypes[name], join(at, path...))
		if err != nil {
			return tftypes.Value{}, err
		}
		if !emptyText(value) {
			attributes[name] = value
		}
	}
	return tftypes.NewValue(typ, attributes), nil
}

func (c Codec) decodeMap(in any, typ tftypes.Map, at string) (tftypes.Value, error) {
	entries, ok := in.(map[string]any)
	if !ok {
		return mismatch(in, typ, at)
	}
	if len(entries) == 0 {
		return tftypes.NewValue(typ, nil), nil
	}
	out := make(map[string]tftypes.Value, len(entries))
	for key, entry := range entries {
		value, err := c.decode(entry, typ.ElementType, subscript(at, key))
		if err != nil {
			return tftypes.Value{}, err
		}
		out[key] = value
	}
	return tftypes.NewValue(typ, out), nil
}

func (c Codec) decodeList(in any, typ tftypes.List, at string) (tftypes.Value, error) {
	elements, ok := in.([]any)
	if !ok {
		return mismatch(in, typ, at)
	}
	if len(elements) == 0 {
		return tftypes.NewValue(typ, nil), nil
	}
	out := make([]tftypes.Value, 0, len(elements))
	for i, element := range elements {
		value, err := c.decode(element, typ.ElementType, index(at, i))
		if err != nil {
			return tftypes.Value{}, err
		}
		out = append(out, value)
	}
	return tftypes.NewValue(typ, out), nil
}

func decodeScalar(in any, typ tftypes.Type, at string) (tftypes.Value, error) {
	switch v := in.(type) {
	case string:
		if typ.Is(tftypes.String) {
			return tftypes.NewValue(typ, v), nil
		}
	case bool:
		if typ.Is(tftypes.Bool) {
			return tftypes.NewValue(typ, v), nil
		}
	case int64:
		if typ.Is(tftypes.Number) {
			return tftypes.NewValue(typ, new(big.Float).SetInt64(v)), nil
		}
		if typ.Is(tftypes.String) {
			return tftypes.NewValue(typ, strconv.FormatInt(v, 10)), nil
		}
	case float64:
		if typ.Is(tftypes.Number) {
			return tftypes.NewValue(typ, big.NewFloat(v)), nil
		}
		if typ.Is(tftypes.String) {
			return tftypes.NewValue(typ, strconv.FormatFloat(v, 'f', -1, 64)), nil
		}
	}
	return mismatch(in, typ, at)
}

func mismatch(in any, typ tftypes.Type, at string) (tftypes.Value, error) {
	return tftypes.Value{}, fmt.Errorf("read %s: %v is not of the type %s", at, in, typ)
}
