package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// released holds the CRDs of the releases that upgrades are promised from, one folder
// each. A release adds a folder, which is never edited from then on; that of the first
// one, 0.1.0, follows the CRDs until it is out.
const released = "testdata/released"

// TestCompatibleWithReleases fails where an object that a release accepted might be
// refused, or lose a value, by the CRDs of today.
func TestCompatibleWithReleases(t *testing.T) {
	releases, err := os.ReadDir(released)
	if err != nil || len(releases) == 0 {
		t.Fatalf("no releases in %s: %v", released, err)
	}
	for _, release := range releases {
		t.Run(release.Name(), func(t *testing.T) {
			names, err := filepath.Glob(filepath.Join(released, release.Name(), "*.yaml"))
			if err != nil || len(names) == 0 {
				t.Fatalf("no CRDs: %v", err)
			}
			for _, name := range names {
				var before, after map[string]any
				read(t, name, &before)
				read(t, api+"crds/"+filepath.Base(name), &after)
				for _, change := range breaking(before, after) {
					t.Errorf("%s: %s", filepath.Base(name), change)
				}
			}
		})
	}
}

func TestBreaking(t *testing.T) {
	const schema = "spec.versions.v1.schema.openAPIV3Schema"
	crd := func(properties map[string]any, more ...map[string]any) map[string]any {
		root := map[string]any{"type": "object", "properties": properties}
		for _, m := range more {
			maps.Copy(root, m)
		}
		return map[string]any{"spec": map[string]any{
			"scope": "Cluster", "names": map[string]any{"kind": "A"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "schema": map[string]any{"openAPIV3Schema": root}}},
		}}
	}
	field := func(keys ...any) map[string]any {
		schema := map[string]any{"type": "string"}
		for i := 0; i < len(keys); i += 2 {
			schema[keys[i].(string)] = keys[i+1]
		}
		return map[string]any{"a": schema}
	}
	required := map[string]any{"required": []any{"a"}}
	rule := map[string]any{"rule": "self != ''"}
	tests := map[string]struct {
		before, after map[string]any
		want          string // contained in the only change; none if empty
	}{
		"nothing changes":               {before: crd(field()), after: crd(field())},
		"a new field":                   {before: crd(map[string]any{}), after: crd(field())},
		"a description":                 {before: crd(field("description", "a")), after: crd(field("description", "b"))},
		"a value more":                  {before: crd(field("enum", []any{"a"})), after: crd(field("enum", []any{"a", "b"}))},
		"no longer required":            {before: crd(field(), required), after: crd(field())},
		"a higher bound":                {before: crd(field("maxLength", int64(3))), after: crd(field("maxLength", int64(4)))},
		"a rule less":                   {before: crd(field("x-kubernetes-validations", []any{rule})), after: crd(field())},
		"a field less":                  {before: crd(field()), after: crd(map[string]any{}), want: schema + ".properties.a: is gone"},
		"another type":                  {before: crd(field()), after: crd(field("type", "integer")), want: "type"},
		"required":                      {before: crd(field()), after: crd(field(), required), want: "required: a is new"},
		"a value less":                  {before: crd(field("enum", []any{"a", "b"})), after: crd(field("enum", []any{"a"})), want: "enum: b is gone"},
		"values where any was right":    {before: crd(field()), after: crd(field("enum", []any{"a"})), want: "enum: is new"},
		"a lower bound":                 {before: crd(field("maxLength", int64(3))), after: crd(field("maxLength", int64(2))), want: "maxLength"},
		"a bound where there was none":  {before: crd(field()), after: crd(field("minLength", int64(1))), want: "minLength"},
		"another pattern":               {before: crd(field("pattern", "a")), after: crd(field("pattern", "b")), want: "pattern"},
		"a rule more":                   {before: crd(field()), after: crd(field("x-kubernetes-validations", []any{rule})), want: "x-kubernetes-validations: self != '' is new"},
		"unknown fields pruned":         {before: crd(field("x-kubernetes-preserve-unknown-fields", true)), after: crd(field()), want: "x-kubernetes-preserve-unknown-fields"},
		"a deeper field less":           {before: crd(field("items", map[string]any{"properties": field()})), after: crd(field("items", map[string]any{})), want: "items.properties.a: is gone"},
		"namespaced instead of cluster": {before: crd(field()), after: withSpec(crd(field()), "scope", "Namespaced"), want: "spec.scope"},
		"a version less":                {before: crd(field()), after: withSpec(crd(field()), "versions", []any{}), want: "v1: is gone"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := breaking(test.before, test.after)
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Errorf("breaking = %q, want %q", got, test.want)
			}
		})
	}
}

func withSpec(crd map[string]any, key string, value any) map[string]any {
	crd["spec"].(map[string]any)[key] = value
	return crd
}

// breaking lists what an object of the CRD before may lose, or be refused for, by the
// CRD after.
func breaking(before, after map[string]any) []string {
	c := &comparison{}
	specBefore, specAfter := object(before["spec"]), object(after["spec"])
	c.equal("spec.scope", specBefore["scope"], specAfter["scope"])
	c.equal("spec.group", specBefore["group"], specAfter["group"])
	for _, name := range []string{"kind", "plural", "singular"} {
		c.equal("spec.names."+name, object(specBefore["names"])[name], object(specAfter["names"])[name])
	}
	versions := map[any]map[string]any{}
	for _, version := range list(specAfter["versions"]) {
		versions[object(version)["name"]] = object(version)
	}
	for _, version := range list(specBefore["versions"]) {
		was := object(version)
		path := fmt.Sprint("spec.versions.", was["name"])
		now, ok := versions[was["name"]]
		if !ok {
			c.add(path, "is gone")
			continue
		}
		c.equal(path+".served", was["served"], now["served"])
		if _, ok := object(was["subresources"])["status"]; ok {
			_, still := object(now["subresources"])["status"]
			c.equal(path+".subresources.status", true, still)
		}
		c.schema(path+".schema.openAPIV3Schema", object(object(was["schema"])["openAPIV3Schema"]), object(object(now["schema"])["openAPIV3Schema"]))
	}
	return c.changes
}

// comparison collects breaking changes.
type comparison struct{ changes []string }

func (c *comparison) add(path, change string) { c.changes = append(c.changes, path+": "+change) }

func (c *comparison) equal(path string, before, after any) {
	if !reflect.DeepEqual(before, after) {
		c.add(path, fmt.Sprintf("was %v and is %v", before, after))
	}
}

// Keywords of a schema by what a change of them may break.
var (
	fixed   = []string{"type", "format", "pattern", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "nullable", "default", "anyOf", "oneOf", "allOf", "not"}
	ceiling = []string{"maximum", "maxLength", "maxItems", "maxProperties"}
	floor   = []string{"minimum", "minLength", "minItems", "minProperties"}
)

func (c *comparison) schema(path string, before, after map[string]any) {
	for _, keyword := range fixed {
		c.equal(path+"."+keyword, before[keyword], after[keyword])
	}
	for _, keyword := range ceiling {
		c.bound(path+"."+keyword, before[keyword], after[keyword], 1)
	}
	for _, keyword := range floor {
		c.bound(path+"."+keyword, before[keyword], after[keyword], -1)
	}
	c.values(path, before, after)
	for _, name := range slices.Sorted(maps.Keys(object(before["properties"]))) {
		now, ok := object(after["properties"])[name]
		if !ok {
			c.add(path+".properties."+name, "is gone")
			continue
		}
		c.schema(path+".properties."+name, object(object(before["properties"])[name]), object(now))
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if was, ok := before[keyword].(map[string]any); ok {
			c.schema(path+"."+keyword, was, object(after[keyword]))
		} else {
			c.equal(path+"."+keyword, before[keyword], after[keyword])
		}
	}
}

// bound compares numbers of which a greater one allows more, or less if direction is -1.
func (c *comparison) bound(path string, before, after any, direction float64) {
	switch {
	case after == nil:
	case before == nil:
		c.add(path, fmt.Sprintf("%v is new", after))
	case direction*(number(after)-number(before)) < 0:
		c.add(path, fmt.Sprintf("was %v and is %v", before, after))
	}
}

// values compares what must be there, which values are allowed, and the rules.
func (c *comparison) values(path string, before, after map[string]any) {
	for _, name := range list(after["required"]) {
		if !slices.Contains(list(before["required"]), name) {
			c.add(path+".required", fmt.Sprint(name, " is new"))
		}
	}
	switch _, ok := after["enum"]; {
	case ok && before["enum"] == nil:
		c.add(path+".enum", "is new")
	case ok:
		for _, value := range list(before["enum"]) {
			if !slices.Contains(list(after["enum"]), value) {
				c.add(path+".enum", fmt.Sprint(value, " is gone"))
			}
		}
	}
	rules := map[any]bool{}
	for _, rule := range list(before["x-kubernetes-validations"]) {
		rules[object(rule)["rule"]] = true
	}
	for _, rule := range list(after["x-kubernetes-validations"]) {
		if text := object(rule)["rule"]; !rules[text] {
			c.add(path+".x-kubernetes-validations", fmt.Sprint(text, " is new"))
		}
	}
}

func object(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

func list(value any) []any {
	l, _ := value.([]any)
	return l
}

func number(value any) float64 {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case float64:
		return value
	}
	return 0
}
