// Package wire converts between Terraform values and the JSON of the custom
// resources. It is driven by the schema's own types, so that an attribute is
// declared once: its name tells the JSON field, its type the conversion.
package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Codec knows how the attributes of one resource are spelt in JSON. An
// attribute's field is its name in camel case, unless Fields says otherwise.
type Codec struct {
	// Fields maps an attribute's name to its JSON field. A dotted value reaches
	// into an object that has no attribute of its own.
	Fields map[string]string
	// Local lists the root attributes that are no part of the JSON.
	Local []string
}

// Document is the JSON of one Terraform value and what could not be said yet.
type Document struct {
	// Fields is the JSON object. Null and empty attributes are absent from it.
	Fields map[string]any
	// Unknown lists the JSON paths of what is known only after apply.
	Unknown []string

	// kept holds, for each list by its JSON path, the original index of every
	// element that is in Fields. Elements with an unknown part are left out.
	kept map[string][]int
}

// field returns the JSON path of an attribute below its object.
func (c Codec) field(attribute string) []string {
	if f, ok := c.Fields[attribute]; ok {
		return strings.Split(f, ".")
	}
	return []string{camelCase(attribute)}
}

// attributes returns the object type's attributes that are in the JSON, in order.
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

// JSONName returns the dotted JSON path of an attribute below its object.
func (c Codec) JSONName(attribute string) string { return strings.Join(c.field(attribute), ".") }
