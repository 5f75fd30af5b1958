package decode

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// suspicious finds texts that may be quantities which are negative, or would take seconds to read.
var suspicious = regexp.MustCompile(`[0-9.][eE][+-]?[0-9]{4}|[0-9.]{100}|[":\s]-[0-9.]`)

// CheckQuantities refuses quantities that nobody means, before they are read into the
// type: those that are negative, as the API server does, and those that take long to read.
func CheckQuantities(asJSON []byte, t reflect.Type) error {
	if !suspicious.Match(asJSON) {
		return nil
	}
	tree, err := Tree(asJSON)
	if err != nil {
		return nil //nolint:nilerr // reading it into the type says what is wrong with it
	}
	return checkTree(tree, t, "")
}

// checkTree follows a value and its type. What does not match the type is left to
// whoever reads it.
func checkTree(value any, t reflect.Type, path string) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[resource.Quantity]() {
		text := fmt.Sprint(value)
		switch {
		case isLong(value):
			return finding.Finding{Severity: finding.Error, Path: path, Text: finding.Say("Invalid value: %q: %s", shortened(text), amount.ErrLong)}
		case strings.HasPrefix(text, "-"):
			return finding.Finding{Severity: finding.Error, Path: path, Text: finding.Say("Invalid value: %q: must be greater than or equal to 0", text)}
		}
		return nil
	}
	switch v := value.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			return nil
		}
		for i, item := range v {
			if err := checkTree(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			of, at := memberOf(t, key, path)
			if of == nil {
				continue
			}
			if err := checkTree(v[key], of, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// isLong reports whether a text or a number would take seconds to read as a quantity.
func isLong(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return amount.Long(fmt.Sprint(value))
}

// memberOf returns the type of an object's member and its path, nil where it has none.
func memberOf(t reflect.Type, key, path string) (reflect.Type, string) {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), path + "[" + key + "]"
	case reflect.Struct:
		return jsonFields(t)[key], strings.TrimPrefix(path+"."+key, ".")
	}
	return nil, ""
}

func shortened(text string) string {
	if len(text) > 20 {
		return text[:20] + "…"
	}
	return text
}
