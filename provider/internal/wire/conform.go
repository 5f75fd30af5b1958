package wire

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Conform converts a value as Terraform hands over what has no declared type:
// tuples become lists, objects become maps, attributes that are missing are null,
// and numbers become text where the type says so. Attributes that the type does
// not have are left out, so that a whole resource can stand for its arguments.
func Conform(v tftypes.Value, typ tftypes.Type) (tftypes.Value, error) {
	switch {
	case !v.IsKnown():
		return tftypes.NewValue(typ, tftypes.UnknownValue), nil
	case v.IsNull():
		return tftypes.NewValue(typ, nil), nil
	}
	switch typ := typ.(type) {
	case tftypes.Object:
		return conformObject(v, typ)
	case tftypes.Map:
		return conformMap(v, typ)
	case tftypes.List:
		return conformList(v, typ)
	}
	return conformScalar(v, typ)
}

func conformObject(v tftypes.Value, typ tftypes.Object) (tftypes.Value, error) {
	var given map[string]tftypes.Value
	if err := v.As(&given); err != nil {
		return tftypes.Value{}, fmt.Errorf("%s is no object", v.Type())
	}
	out := make(map[string]tftypes.Value, len(typ.AttributeTypes))
	for name, t := range typ.AttributeTypes {
		out[name] = tftypes.NewValue(t, nil)
		if value, ok := given[name]; ok {
			converted, err := Conform(value, t)
			if err != nil {
				return tftypes.Value{}, fmt.Errorf("%s: %w", name, err)
			}
			out[name] = converted
		}
	}
	return tftypes.NewValue(typ, out), nil
}

func conformMap(v tftypes.Value, typ tftypes.Map) (tftypes.Value, error) {
	var given map[string]tftypes.Value
	if err := v.As(&given); err != nil {
		return tftypes.Value{}, fmt.Errorf("%s is no map", v.Type())
	}
	out := make(map[string]tftypes.Value, len(given))
	for key, value := range given {
		converted, err := Conform(value, typ.ElementType)
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("%s: %w", key, err)
		}
		out[key] = converted
	}
	return tftypes.NewValue(typ, out), nil
}

func conformList(v tftypes.Value, typ tftypes.List) (tftypes.Value, error) {
	var given []tftypes.Value
	if err := v.As(&given); err != nil {
		return tftypes.Value{}, fmt.Errorf("%s is no list", v.Type())
	}
	out := make([]tftypes.Value, 0, len(given))
	for i, value := range given {
		converted, err := Conform(value, typ.ElementType)
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("[%d]: %w", i, err)
		}
		out = append(out, converted)
	}
	return tftypes.NewValue(typ, out), nil
}

func conformScalar(v tftypes.Value, typ tftypes.Type) (tftypes.Value, error) {
	switch {
	case v.Type().Is(typ):
		return v, nil
	case typ.Is(tftypes.String) && v.Type().Is(tftypes.Number):
		var n big.Float
		if err := v.As(&n); err != nil {
			return tftypes.Value{}, err
		}
		return tftypes.NewValue(typ, n.Text('f', -1)), nil
	case typ.Is(tftypes.Number) && v.Type().Is(tftypes.String):
		var text string
		if err := v.As(&text); err != nil {
			return tftypes.Value{}, err
		}
		n, _, err := big.ParseFloat(text, 10, 512, big.ToNearestEven)
		if err != nil {
			return tftypes.Value{}, fmt.Errorf("%q is no number", text)
		}
		return tftypes.NewValue(typ, n), nil
	}
	return tftypes.Value{}, fmt.Errorf("%s is no %s", v.Type(), typ)
}
