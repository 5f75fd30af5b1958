package karpenter

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/onboard/karpenter/kinds"
)

const fieldsPage = "../../../docs/karpenter-fields.md"

// TestFieldsPageNamesEveryField checks that the page says of each field of a NodePool and
// of an EC2NodeClass what happens to it. That these are all that Karpenter has is checked
// by package peercrds.
func TestFieldsPageNamesEveryField(t *testing.T) {
	text, err := os.ReadFile(fieldsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[kinds.PoolSpec](), reflect.TypeFor[kinds.ClassSpec]()} {
		for _, path := range pathsOf(typ, "spec") {
			if !strings.Contains(string(text), "`"+path+"`") {
				t.Errorf("the page does not name %s of %s", path, typ.Name())
			}
		}
	}
}

// pathsOf lists the fields of a type.
func pathsOf(typ reflect.Type, at string) []string {
	var out []string
	for field := range typ.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, inner := at+"."+name, field.Type
		out = append(out, path)
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
			if inner.Kind() == reflect.Slice {
				path += "[]"
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner.PkgPath() == typ.PkgPath() {
			out = append(out, pathsOf(inner, path)...)
		}
	}
	return out
}

var namedTest = regexp.MustCompile("`(Test[A-Za-z]+)(?:/([^`]+))?`")

// TestFieldsPageNamesTests checks that each row of the page names tests, and that they exist.
func TestFieldsPageNamesTests(t *testing.T) {
	text, err := os.ReadFile(fieldsPage)
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, folder := range []string{".", "check", "../../cluster", "../../kube", "../../aws", "../../aws/lookup", "../../decide", "../../../agent"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, string(source))
		}
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		named := namedTest.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, test := range named {
			if !slices.ContainsFunc(sources, func(source string) bool {
				return strings.Contains(source, "func "+test[1]+"(") && (test[2] == "" || strings.Contains(source, "\""+test[2]+"\":"))
			}) {
				t.Errorf("there is no test %s", test[0])
			}
		}
	}
}
