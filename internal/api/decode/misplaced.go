package decode

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api/suggest"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/finding"
)

// adviseField says what was probably meant by a field that the object of type t at
// path does not have: one that stands elsewhere, or one whose name is similar.
func (w *walk) adviseField(name string, t reflect.Type, path *field.Path) finding.Message {
	if entries := onlyMap(t); entries != "" {
		return finding.Say("move it into %s", finding.At(path.Child(entries)))
	}
	if at := placesIn(w.root)[name]; at != "" {
		return finding.Say("move it to %s", finding.Field{Path: at})
	}
	for _, other := range w.Related {
		if at := placesIn(other.Type)[name]; at != "" && other.Type != w.root && !strings.HasSuffix(other.Name, " "+w.kind) {
			return finding.Say("it belongs to %s, at %s", other.Name, at)
		}
	}
	if quote := finding.TypographicQuote(name); quote != "" {
		return finding.Say("write %s without the typographic quote %s", finding.WithoutQuotes(name), quote)
	}
	if found := finding.Template(name); found != "" {
		return finding.Plain(finding.RenderFirst)
	}
	if near, ok := suggest.Name(name, slices.Sorted(maps.Keys(jsonFields(t)))); ok {
		return finding.Say("did you mean %s?", finding.In(path, near))
	}
	if w.Foreign {
		return finding.None
	}
	return finding.Say("remove it")
}

// onlyMap returns the field of an object that has nothing but one map. Its
// entries are often written without it: limits.cpu for limits.resources.cpu.
func onlyMap(t reflect.Type) string {
	fields := jsonFields(t)
	if len(fields) != 1 {
		return ""
	}
	for name, typ := range fields {
		if typ.Kind() == reflect.Map {
			return name
		}
	}
	return ""
}

// ambiguous are names that say too little to tell where they belong.
var ambiguous = []string{"apiVersion", "kind", "name", "resources"}

var knownPlaces sync.Map

// placesIn maps the names of all fields below the spec of a type to their paths.
// Of equal names the one nearest to the root counts.
func placesIn(t reflect.Type) map[string]string {
	if known, ok := knownPlaces.Load(t); ok {
		return known.(map[string]string)
	}
	out := map[string]string{}
	type place struct {
		typ  reflect.Type
		path *field.Path
	}
	var next []place
	if spec, ok := jsonFields(t)["spec"]; ok {
		out["spec"] = "spec"
		if spec.Kind() == reflect.Pointer {
			spec = spec.Elem()
		}
		next = append(next, place{spec, field.NewPath("spec")})
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		fields := jsonFields(at.typ)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			inner, path := fields[name], at.path.Child(name)
			if _, taken := out[name]; !taken && !slices.Contains(ambiguous, name) {
				out[name] = path.String()
			}
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct && inner.PkgPath() == t.PkgPath() {
				next = append(next, place{inner, path})
			}
		}
	}
	knownPlaces.Store(t, out)
	return out
}
