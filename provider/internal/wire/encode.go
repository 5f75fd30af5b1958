package wire

import (
	"fmt"
	"math/big"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Encode converts a value of an object type. Null and empty values are left out. An empty string stays in
// maps and lists, where it has a meaning, and in an object without other values, which must be a mistake.
// Unknown attributes are left out and listed. A list element with an unknown part is left out as a whole, so
// that the rest can be checked on its own.
func (c Codec) Encode(v tftypes.Value) (*Document, error) {
	e := encoder{codec: c, doc: &Document{kept: map[string][]int{}}}
	fields, err := e.object(v, "")
	if err != nil {
		return nil, err
	}
	e.doc.Fields = fields
	return e.doc, nil
}

type encoder struct {
	codec Codec
	doc   *Document
}

// value returns nil for a value that is null, unknown or empty.
func (e encoder) value(v tftypes.Value, at string) (any, error) {
	if !v.IsKnown() {
		e.doc.Unknown = append(e.doc.Unknown, at)
		return nil, nil
	}
	if v.IsNull() {
		return nil, nil
	}
	switch typ := v.Type(); {
	case typ.Is(tftypes.Object{}):
		fields, err := e.object(v, at)
		if len(fields) == 0 {
			return nil, err
		}
		return fields, err
	case typ.Is(tftypes.List{}), typ.Is(tftypes.Set{}):
		return e.list(v, at)
	case typ.Is(tftypes.Map{}):
		return e.dictionary(v, at)
	}
	return scalar(v, at)
}

func (e encoder) object(v tftypes.Value, at string) (map[string]any, error) {
	var attributes map[string]tftypes.Value
	if err := v.As(&attributes); err != nil {
		return nil, fmt.Errorf("read object %q: %w", at, err)
	}
	fields, blank := map[string]any{}, map[string]any{}
	for _, name := range e.codec.attributes(v.Type().(tftypes.Object), at == "") {
		path := e.codec.Field(name)
		if emptyText(attributes[name]) {
			put(blank, path, "")
			continue
		}
		value, err := e.value(attributes[name], join(at, path...))
		if err != nil {
			return nil, err
		}
		if value != nil {
			put(fields, path, value)
		}
	}
	if len(fields) == 0 && at != "" {
		return blank, nil
	}
	return fields, nil
}

func (e encoder) list(v tftypes.Value, at string) (any, error) {
	var elements []tftypes.Value
	if err := v.As(&elements); err != nil {
		return nil, fmt.Errorf("read list %q: %w", at, err)
	}
	var out []any
	for i, element := range elements {
		if !element.IsFullyKnown() {
			e.doc.Unknown = append(e.doc.Unknown, index(at, i))
			continue
		}
		value, err := e.value(element, index(at, i))
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		out = append(out, value)
		e.doc.kept[at] = append(e.doc.kept[at], i)
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

func (e encoder) dictionary(v tftypes.Value, at string) (any, error) {
	var elements map[string]tftypes.Value
	if err := v.As(&elements); err != nil {
		return nil, fmt.Errorf("read map %q: %w", at, err)
	}
	out := map[string]any{}
	for key, element := range elements {
		value, err := e.value(element, subscript(at, key))
		if err != nil {
			return nil, err
		}
		if value != nil {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

func scalar(v tftypes.Value, at string) (any, error) {
	switch typ := v.Type(); {
	case typ.Is(tftypes.String):
		var s string
		err := v.As(&s)
		return s, err
	case typ.Is(tftypes.Bool):
		var b bool
		err := v.As(&b)
		return b, err
	case typ.Is(tftypes.Number):
		var f big.Float
		if err := v.As(&f); err != nil {
			return nil, err
		}
		n, accuracy := f.Int64()
		if accuracy != big.Exact {
			return nil, fmt.Errorf("read %q: %s is not a whole number of 64 bits", at, f.String())
		}
		return n, nil
	}
	return nil, fmt.Errorf("read %q: the type %s cannot be encoded as JSON", at, v.Type())
}

// put sets the field at a path, and creates the objects on the way.
func put(fields map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		inner, ok := fields[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			fields[name] = inner
		}
		fields = inner
	}
	fields[path[len(path)-1]] = value
}
