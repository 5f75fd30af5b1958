package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// JSONNames says how a JSON service spells its fields.
type JSONNames int

const (
	// PascalNames are the field names of the SDK: SSM, Pricing, SQS.
	PascalNames JSONNames = iota
	// CamelNames begin with a lower-case letter: EKS.
	CamelNames
)

// DecodeJSON fills input, a pointer to an SDK input struct, from a JSON body;
// an empty body leaves it as it is. Names match regardless of case.
func DecodeJSON(body []byte, input any) error {
	if len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, input); err != nil {
		return fmt.Errorf("decode JSON into %T: %w", input, err)
	}
	return nil
}

// EncodeJSON returns output, a pointer to an SDK output struct, as JSON. Times
// are seconds since the epoch, as the JSON protocols have them.
func (n JSONNames) EncodeJSON(output any) ([]byte, error) {
	tree, err := n.tree(reflect.ValueOf(output))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", output, err)
	}
	return json.Marshal(tree)
}

func (n JSONNames) tree(v reflect.Value) (any, error) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch {
	case v.Type() == timeType:
		return float64(v.Interface().(time.Time).UnixMilli()) / 1000, nil
	case v.Type() == bytesType:
		return v.Bytes(), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		return n.object(v)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			item, err := n.tree(v.Index(i))
			if err != nil {
				return nil, err
			}
			list[i] = item
		}
		return list, nil
	case reflect.Map:
		object := make(map[string]any, v.Len())
		for _, key := range v.MapKeys() {
			item, err := n.tree(v.MapIndex(key))
			if err != nil {
				return nil, err
			}
			object[key.String()] = item
		}
		return object, nil
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		return v.Interface(), nil
	default:
		return nil, fmt.Errorf("no JSON form for type %s", v.Type())
	}
}

func (n JSONNames) object(v reflect.Value) (any, error) {
	object := map[string]any{}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !onWire(field) || isAbsent(v.Field(i)) {
			continue
		}
		item, err := n.tree(v.Field(i))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		name := field.Name
		if n == CamelNames {
			name = lowerFirst(name)
		}
		object[name] = item
	}
	return object, nil
}
