package terraform

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
)

// inlineWidth is how long an object or a list may be to stand on one line.
const inlineWidth = 90

// Raw is an expression that is written as it is, such as a reference.
type Raw string

// Encoded returns the call of jsonencode that gives the JSON value.
func Encoded(value any) Raw { return Raw("jsonencode(" + expression(value, nil) + ")") }

// Argument is an argument of a block.
type Argument struct {
	Name  string
	Value any // JSON, Raw, or []string and map[string]string
}

// Block writes a block with its arguments, formatted. What is nil is left out.
func Block(head string, arguments []Argument) string {
	var b strings.Builder
	b.WriteString(head + " {\n")
	for _, a := range arguments {
		if a.Value != nil {
			fmt.Fprintf(&b, "  %s = %s\n", a.Name, expression(a.Value, nil))
		}
	}
	b.WriteString("}\n")
	return string(hclwrite.Format([]byte(b.String())))
}

// Format formats a whole file, and refuses one that Terraform could not read.
func Format(name, text string) ([]byte, error) {
	out := hclwrite.Format([]byte(text))
	if _, diags := hclsyntax.ParseConfig(out, name, hcl.InitialPos); diags.HasErrors() {
		return nil, fmt.Errorf("write %s: %w", name, diags)
	}
	return out, nil
}

// Arguments returns the arguments that stand for the JSON of a spec, in the order
// of its Go type's fields.
func Arguments(spec map[string]any, typ reflect.Type) []Argument {
	var out []Argument
	for _, field := range fieldsOf(typ) {
		value, ok := spec[field.name]
		if !ok || value == nil {
			continue
		}
		attribute := attributeOf(field.name)
		inner := field.typ
		if _, rest, dotted := strings.Cut(Fields[attribute], "."); dotted {
			object, _ := value.(map[string]any)
			value = object[rest]
			inner = typeOf(inner, rest)
		}
		out = append(out, Argument{attribute, typed{value, inner}})
	}
	return out
}

// typed is a JSON value with the Go type that tells objects from maps.
type typed struct {
	value any
	typ   reflect.Type
}

type jsonField struct {
	name string
	typ  reflect.Type
}

// fieldsOf lists the JSON fields of a struct.
func fieldsOf(typ reflect.Type) []jsonField {
	var out []jsonField
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			out = append(out, jsonField{name, field.Type})
		}
	}
	return out
}

func typeOf(typ reflect.Type, field string) reflect.Type {
	for _, f := range fieldsOf(underlying(typ)) {
		if f.name == field {
			return f.typ
		}
	}
	return nil
}

func underlying(typ reflect.Type) reflect.Type {
	if typ == nil {
		return nil
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ == reflect.TypeFor[runtime.RawExtension]() {
		return reflect.TypeFor[api.NodeProfile]()
	}
	return typ
}

// expression writes a value. A map whose type is a struct is an object.
func expression(value any, typ reflect.Type) string {
	switch v := value.(type) {
	case typed:
		return expression(v.value, v.typ)
	case Raw:
		return string(v)
	case []string:
		return list(v, nil)
	case map[string]string:
		return expression(anyMap(v), nil)
	case map[string]any:
		return object(v, underlying(typ))
	case []any:
		return list(v, underlying(typ))
	}
	return scalar(value)
}

func object(v map[string]any, typ reflect.Type) string {
	var lines []string
	if typ != nil && typ.Kind() == reflect.Struct {
		for _, a := range Arguments(v, typ) {
			lines = append(lines, a.Name+" = "+expression(a.Value, nil))
		}
	} else {
		var element reflect.Type
		if typ != nil && typ.Kind() == reflect.Map {
			element = typ.Elem()
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, mapKey(key)+" = "+expression(v[key], element))
		}
	}
	if len(lines) == 0 {
		return "{}"
	}
	if short := "{ " + strings.Join(lines, ", ") + " }"; fits(short) {
		return short
	}
	return "{\n" + strings.Join(lines, "\n") + "\n}"
}

func list[T any](v []T, typ reflect.Type) string {
	var element reflect.Type
	if typ != nil && typ.Kind() == reflect.Slice {
		element = typ.Elem()
	}
	var items []string
	for _, item := range v {
		items = append(items, expression(item, element))
	}
	if short := "[" + strings.Join(items, ", ") + "]"; fits(short) {
		return short
	}
	return "[\n" + strings.Join(items, ",\n") + ",\n]"
}

func fits(text string) bool { return len(text) <= inlineWidth && !strings.Contains(text, "\n") }

func mapKey(key string) string {
	if hclsyntax.ValidIdentifier(key) {
		return key
	}
	return quote(key)
}

func scalar(value any) string {
	text, ok := value.(string)
	if !ok {
		raw, err := json.Marshal(value)
		if err != nil {
			return quote(fmt.Sprint(value))
		}
		return string(raw)
	}
	if strings.Count(text, "\n") > 1 && strings.HasSuffix(text, "\n") && !strings.Contains(text, "\r") {
		return heredoc(text)
	}
	return quote(text)
}

func quote(text string) string { return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes()) }

// heredoc writes text that ends with a line break as it reads.
func heredoc(text string) string {
	end := "EOT"
	for strings.Contains(text, end) {
		end += "X"
	}
	text = strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
	return "<<" + end + "\n" + text + end
}

func anyMap(values map[string]string) map[string]any {
	out := make(map[string]any, len(values))
	for key, v := range values {
		out[key] = v
	}
	return out
}
