package decode_test

import (
	"encoding/json"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/decode"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

// values are what people put anywhere.
var values = []any{
	nil, true, "", "a", "1Gi", "1e99999", json.Number("0"), json.Number("-1.5"), json.Number("1e30"), json.Number("1e99999"), []any{}, []any{nil}, []any{json.Number("1")},
	[]any{map[string]any{}}, map[string]any{}, map[string]any{"size": "100Gi"}, map[string]any{"a": nil}, map[string]any{"a": map[string]any{"a": []any{}}},
}

// TestAnyValueInAnyField holds that no value in any field stops the program.
func TestAnyValueInAnyField(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[api.Provisioner](), reflect.TypeFor[api.AWSNodeTemplate](),
		reflect.TypeFor[kinds.NodePool](), reflect.TypeFor[kinds.NodePoolBeta](), reflect.TypeFor[kinds.NodeClass](),
		reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.Node](), reflect.TypeFor[corev1.LimitRange](), reflect.TypeFor[offer.Catalogue](),
	} {
		t.Run(of.String(), func(t *testing.T) {
			fields := 0
			eachField(full(t, of), func(value any) any { return value }, func(tree func(any) any) {
				fields++
				for _, value := range values {
					decodeSafely(t, of, tree(value))
				}
			})
			if fields < 20 {
				t.Errorf("only %d fields were found", fields)
			}
		})
	}
}

// decodeSafely decodes a tree that has only one field.
func decodeSafely(t *testing.T, of reflect.Type, tree any) {
	t.Helper()
	asJSON, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if fault := recover(); fault != nil {
			t.Errorf("%s: %v", asJSON, fault)
		}
	}()
	_ = decode.CheckQuantities(asJSON, of)
	_, _ = decode.Decoder{}.Decode(tree, reflect.New(of).Interface(), nil)
}

// full returns the JSON value of a struct in which all fields are set.
func full(t *testing.T, of reflect.Type) (tree any) {
	value := reflect.New(of).Elem()
	fill(value)
	asJSON, err := json.Marshal(value.Interface())
	if err == nil {
		tree, err = decode.Tree(asJSON)
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// fill sets all fields of a value. Bytes may be JSON, and stay empty.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Struct:
		for _, field := range value.Fields() {
			if field.CanSet() {
				fill(field)
			}
		}
	case reflect.Map:
		key, item := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		fill(key)
		fill(item)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(key, item)
	case reflect.Slice:
		if value.Type().Elem().Kind() != reflect.Uint8 {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			fill(value.Index(0))
		}
	case reflect.String:
		value.SetString("a")
	}
}

// eachField calls do for each value in a tree, with a function that returns the tree with nothing but another value there.
func eachField(value any, tree func(any) any, do func(tree func(any) any)) {
	do(tree)
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			eachField(inner, func(v any) any { return tree(map[string]any{name: v}) }, do)
		}
	case []any:
		for _, inner := range value {
			eachField(inner, func(v any) any { return tree([]any{v}) }, do)
		}
	}
}
