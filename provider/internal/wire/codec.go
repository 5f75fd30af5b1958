// Package wire converts between Terraform values and the JSON of custom resources. The schema drives the
// conversion, so that an attribute is declared only once: its name determines the JSON field, and its type
// the conversion.
package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Codec converts the attributes of one resource. The JSON field of an attribute is its name in camel case,
// unless Fields has another.
type Codec struct {
	// Fields maps the names of attributes to JSON fields. A value with dots is a path into objects
	// that have no attributes of their own.
	Fields map[string]string
	// Local lists the root attributes that are not part of the JSON.
	Local []string
}

// Document is the JSON of one Terraform value.
type Document struct {
	// Fields is the JSON object. Null and empty attributes are absent from it.
	Fields map[string]any
	// Unknown lists the JSON paths of values that are known only after apply.
	Unknown []string

	// kept has the original indexes of the elements of each list that are in Fields, by the JSON
	// path of the list. Elements with an unknown part are not in Fields.
	kept map[string][]int
}

// Field returns the JSON path of an attribute below its object.
func (c Codec) Field(attribute string) []string {
	if f, ok := c.Fields[attribute]; ok {
		return strings.Split(f, ".")
	}
	return []string{camelCase(attribute)}
}

// attributes returns the attributes of the object type that are in the JSON, sorted.
func (c Codec) attributes(typ tftypes.Object, root bool) []string {
	var names []string
	for name := range typ.AttributeTypes {
		if !root || !slices.Contains(c.Local, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func camelCase(attribute string) string {
	words := strings.Split(attribute, "_")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func join(parent string, fields ...string) string {
	if parent == "" {
		return strings.Join(fields, ".")
	}
	return parent + "." + strings.Join(fields, ".")
}

func subscript(parent, key string) string { return parent + "[" + key + "]" }

func index(parent string, i int) string { return subscript(parent, strconv.Itoa(i)) }
