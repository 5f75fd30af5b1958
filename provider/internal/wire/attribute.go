package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// Place is the position of a field in the configuration. The zero value means the whole, or no position.
type Place struct {
	// Root is the name of the root attribute.
	Root string
	// Path is the whole path in HCL, such as requirements[1].values[0].
	Path string
	// Name is the last attribute of the path.
	Name string
}

// Attribute translates a JSON path in this document, such as `requirements[1].values[0]` or
// `limits.resources[cpu]`, to its place in the configuration. If the path leaves the schema, it returns the
// place of the last part that does not.
func (d *Document) Attribute(c Codec, typ tftypes.Object, jsonPath string) (out Place) {
	at := ""
	var current tftypes.Type = typ
	steps := finding.Steps(jsonPath)
	for len(steps) > 0 {
		switch t := current.(type) {
		case tftypes.Object:
			name, used := c.match(t, steps, at == "")
			if used == 0 {
				return out
			}
			if out.Root == "" {
				out.Root = name
			}
			at, out.Path, out.Name = join(at, names(steps[:used])...), join(out.Path, name), name
			current, steps = t.AttributeTypes[name], steps[used:]
		case tftypes.List:
			i, err := strconv.Atoi(steps[0].Name)
			if err != nil {
				return out
			}
			out.Path = index(out.Path, d.original(at, i))
			at, current, steps = index(at, i), t.ElementType, steps[1:]
		case tftypes.Map:
			out.Path = subscript(out.Path, strconv.Quote(steps[0].Name))
			at, current, steps = subscript(at, steps[0].Name), t.ElementType, steps[1:]
		default:
			return out
		}
	}
	return out
}

// Undecided reports whether a finding at the JSON path may be due to a value that is known only after apply:
// the path is at, above or below such a value.
func (d *Document) Undecided(jsonPath string) bool {
	at := d.originalPath(jsonPath)
	return slices.ContainsFunc(d.Unknown, func(unknown string) bool { return under(at, unknown) || under(unknown, at) })
}

func under(path, ancestor string) bool {
	rest, ok := strings.CutPrefix(path, ancestor)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// original returns the index that an element of the list has in the configuration.
func (d *Document) original(list string, i int) int {
	if kept := d.kept[list]; i >= 0 && i < len(kept) {
		return kept[i]
	}
	return i
}

// originalPath replaces the indexes of a JSON path by those in the configuration.
func (d *Document) originalPath(jsonPath string) string {
	at, out := "", ""
	for _, s := range finding.Steps(jsonPath) {
		if !s.Subscript {
			at, out = join(at, s.Name), join(out, s.Name)
			continue
		}
		if i, err := strconv.Atoi(s.Name); err == nil && d.kept[at] != nil {
			out = index(out, d.original(at, i))
		} else {
			out = subscript(out, s.Name)
		}
		at = subscript(at, s.Name)
	}
	return out
}

// match finds the attribute whose JSON field the steps begin with.
func (c Codec) match(typ tftypes.Object, steps []finding.Step, root bool) (name string, used int) {
	for _, candidate := range c.attributes(typ, root) {
		path := c.Field(candidate)
		if len(path) <= len(steps) && slices.Equal(path, names(steps[:len(path)])) {
			return candidate, len(path)
		}
	}
	// A finding about an object without an attribute of its own is about the attribute below it.
	for _, candidate := range c.attributes(typ, root) {
		if path := c.Field(candidate); len(steps) < len(path) && slices.Equal(path[:len(steps)], names(steps)) {
			return candidate, len(steps)
		}
	}
	return "", 0
}

func names(steps []finding.Step) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.Name
	}
	return out
}
