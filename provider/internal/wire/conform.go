package wire

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
)

// Conform converts a value as Terraform hands over what has no declared type:
// tuples become lists, objects become maps, attributes that are missing are null,
// and texts, numbers and booleans become what the type says, as Terraform converts
// them. It refuses attributes that the type does not have.
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
		return tftypes.Value{}, mistyped(v, typ)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := typ.AttributeTypes[name]; !ok {
			return tftypes.Value{}, stranger(name, typ)
		}
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

// stranger is the error of an attribute that a type does not have.
func stranger(name string, typ tftypes.Object) error {
	if near, ok := suggest.Name(name, slices.Sorted(maps.Keys(typ.AttributeTypes))); ok {
		return fmt.Errorf("%s is not a known argument; did you mean %s?", name, near)
	}
	return fmt.Errorf("%s is not a known argument; remove it", name)
}

func conformMap(v tftypes.Value, typ tftypes.Map) (tftypes.Value, error) {
	var given map[string]tftypes.Value
	if err := v.As(&given); err != nil {
		return tftypes.Value{}, mistyped(v, typ)
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
		return tftypes.Value{}, mistyped(v, typ)
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
			return tftypes.Value{}, fmt.Errorf("%q is not a number", text)
		}
		return tftypes.NewValue(typ, n), nil
	case typ.Is(tftypes.String) && v.Type().Is(tftypes.Bool):
		var b bool
		if err := v.As(&b); err != nil {
			return tftypes.Value{}, err
		}
		return tftypes.NewValue(typ, strconv.FormatBool(b)), nil
	case typ.Is(tftypes.Bool) && v.Type().Is(tftypes.String):
		var text string
		if err := v.As(&text); err != nil {
			return tftypes.Value{}, err
		}
		if text == "true" || text == "1" || text == "false" || text == "0" {
			return tftypes.NewValue(typ, text == "true" || text == "1"), nil
		}
		return tftypes.Value{}, fmt.Errorf("%q is neither true nor false", text)
	}
	return tftypes.Value{}, mistyped(v, typ)
}

// mistyped is the error of a value of another type.
func mistyped(v tftypes.Value, typ tftypes.Type) error {
	return fmt.Errorf("must be %s, not %s", word(typ), word(v.Type()))
}

// word names a type as Terraform's language has it.
func word(typ tftypes.Type) string {
	switch {
	case typ.Is(tftypes.String):
		return "a string"
	case typ.Is(tftypes.Number):
		return "a number"
	case typ.Is(tftypes.Bool):
		return "a bool"
	case typ.Is(tftypes.Map{}):
		return "a map"
	case typ.Is(tftypes.Object{}):
		return "an object"
	}
	return "a list"
}
