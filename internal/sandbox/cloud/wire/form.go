package wire

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
)

// UnknownParameterError reports a request parameter that no field takes.
type UnknownParameterError struct{ Name string }

func (e *UnknownParameterError) Error() string {
	return fmt.Sprintf("The parameter %s is not recognized", e.Name)
}

// InvalidParameterError reports a parameter whose value has the wrong form.
type InvalidParameterError struct{ Name, Value, Want string }

func (e *InvalidParameterError) Error() string {
	return fmt.Sprintf("Value (%s) for parameter %s is invalid. Expected: %s", e.Value, e.Name, e.Want)
}

// maxListIndex bounds the index of a list's item, so that one request cannot
// make the server allocate without limit.
const maxListIndex = 10_000

// param is a node of the tree that the dotted names of a form describe.
type param struct {
	value    string
	children map[string]*param
}

// DecodeForm fills input, a pointer to an SDK input struct, from the form of a
// query request. Action and Version are the protocol's own and are skipped.
func (d Dialect) DecodeForm(form url.Values, input any) error {
	root := &param{}
	for name, values := range form {
		if name == "Action" || name == "Version" || strings.HasPrefix(name, "X-Amz-") {
			continue
		}
		node := root
		for part := range strings.SplitSeq(name, ".") {
			if node.children == nil {
				node.children = map[string]*param{}
			}
			child := node.children[part]
			if child == nil {
				child = &param{}
				node.children[part] = child
			}
			node = child
		}
		node.value = values[0]
	}
	return d.decode(root, "", reflect.ValueOf(input).Elem())
}

func (d Dialect) decode(node *param, path string, into reflect.Value) error {
	switch {
	case into.Type() == timeType:
		return decodeTime(node.value, path, into)
	case into.Type() == bytesType:
		return decodeBytes(node.value, path, into)
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return d.decode(node, path, into.Elem())
	case reflect.Struct:
		return d.decodeStruct(node, path, into)
	case reflect.Slice:
		return d.decodeList(node, path, into)
	default:
		return decodeScalar(node.value, path, into)
	}
}

func (d Dialect) decodeStruct(node *param, path string, into reflect.Value) error {
	taken := map[string]bool{}
	for i := range into.NumField() {
		field := into.Type().Field(i)
		if !onWire(field) {
			continue
		}
		name := d.requestName(into.Type(), field.Name)
		child, ok := node.children[name]
		if !ok {
			continue
		}
		taken[name] = true
		if err := d.decode(child, join(path, name), into.Field(i)); err != nil {
			return err
		}
	}
	for _, name := range sortedNames(node.children) {
		if !taken[name] {
			return &UnknownParameterError{Name: join(path, name)}
		}
	}
	return nil
}

func (d Dialect) decodeList(node *param, path string, into reflect.Value) error {
	if d.listLevel != "" {
		member, ok := node.children[d.listLevel]
		if !ok { // an empty list is written as "Name="
			into.Set(reflect.MakeSlice(into.Type(), 0, 0))
			return nil
		}
		node, path = member, join(path, d.listLevel)
	}
	indexes := make([]int, 0, len(node.children))
	for name := range node.children {
		index, err := strconv.Atoi(name)
		if err != nil || index < 1 || index > maxListIndex {
			return &UnknownParameterError{Name: join(path, name)}
		}
		indexes = append(indexes, index)
	}
	sort.Ints(indexes)
	list := reflect.MakeSlice(into.Type(), len(indexes), len(indexes))
	for i, index := range indexes {
		name := strconv.Itoa(index)
		if err := d.decode(node.children[name], join(path, name), list.Index(i)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

func decodeScalar(value, path string, into reflect.Value) error {
	switch into.Kind() {
	case reflect.String:
		into.SetString(value)
	case reflect.Bool:
		parsed, err := strconv.ParseBool(strings.ToLower(value))
		if err != nil {
			return &InvalidParameterError{Name: path, Value: value, Want: "a boolean"}
		}
		into.SetBool(parsed)
	case reflect.Int32, reflect.Int64:
		parsed, err := strconv.ParseInt(value, 10, into.Type().Bits())
		if err != nil {
			return &InvalidParameterError{Name: path, Value: value, Want: "an integer"}
		}
		into.SetInt(parsed)
	case reflect.Float32, reflect.Float64:
		parsed, err := strconv.ParseFloat(value, into.Type().Bits())
		if err != nil {
			return &InvalidParameterError{Name: path, Value: value, Want: "a number"}
		}
		into.SetFloat(parsed)
	default:
		return fmt.Errorf("decode parameter %s: no form for type %s", path, into.Type())
	}
	return nil
}

func decodeTime(value, path string, into reflect.Value) error {
	parsed, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return &InvalidParameterError{Name: path, Value: value, Want: "an ISO 8601 time"}
	}
	into.Set(reflect.ValueOf(parsed))
	return nil
}

func decodeBytes(value, path string, into reflect.Value) error {
	parsed, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return &InvalidParameterError{Name: path, Value: value, Want: "base64"}
	}
	into.SetBytes(parsed)
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedNames(children map[string]*param) []string {
	names := make([]string, 0, len(children))
	for name := range children {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
