package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// parsed are the files of a package, without its tests.
func parsed(t *testing.T, folder string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, file)
	}
	return out
}

// constants returns the string constants of files by name. One may stand for another.
func constants(files []*ast.File) map[string]string {
	out, alias := map[string]string{}, map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			switch v := spec.Values[0].(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(v.Value); err == nil {
					out[spec.Names[0].Name] = text
				}
			case *ast.Ident:
				alias[spec.Names[0].Name] = v.Name
			case *ast.SelectorExpr:
				alias[spec.Names[0].Name] = v.Sel.Name
			}
			return true
		})
	}
	for name, other := range alias {
		out[name] = out[other]
	}
	return out
}

// named returns the values of the constants with a prefix, sorted.
func named(constants map[string]string, prefix string) []string {
	found := map[string]bool{}
	for name, value := range constants {
		if strings.HasPrefix(strings.ToLower(name), prefix) {
			found[value] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// column returns what a column of the table in a section of a page has in backquotes.
func column(page, section string, at int) []string {
	_, text, _ := strings.Cut(page, "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); len(cells) > at+1 {
			for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[at+1], -1) {
				found[m[1]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// literals returns the reasons of events and conditions that are no constants.
func literals(files []*ast.File) (out []string) {
	spelled := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok {
			out = append(out, lit.Value)
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Normal" || f.Sel.Name == "Warning") && len(n.Args) == 3 {
					spelled(n.Args[1])
				}
			case *ast.CompositeLit:
				if typ, ok := n.Type.(*ast.SelectorExpr); !ok || typ.Sel.Name != "Condition" {
					return true
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && kv.Key.(*ast.Ident).Name == "Reason" {
						spelled(kv.Value)
					}
				}
			}
			return true
		})
	}
	return out
}

// The reasons of events and conditions that users filter by are those of the page.
func TestReasonsAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	page, own := string(raw), slices.Concat(parsed(t, "."), parsed(t, "drain"), parsed(t, "launch"), parsed(t, "inventory"), parsed(t, "disrupt"), parsed(t, "notice"), parsed(t, "planreport"))
	if diff := cmp.Diff(named(constants(parsed(t, "event")), ""), column(page, "Events", 0)); diff != "" {
		t.Errorf("the reasons of events in docs/metrics.md: -code +page\n%s", diff)
	}
	conditions := named(constants(slices.Concat(own, parsed(t, "event"), parsed(t, "view"), parsed(t, "../internal/aws"), parsed(t, "../internal/aws/client"), parsed(t, "../internal/aws/stock"))), "reason")
	if diff := cmp.Diff(conditions, column(page, "Conditions", 1)); diff != "" {
		t.Errorf("the reasons of conditions in docs/metrics.md: -code +page\n%s", diff)
	}
	types := named(constants(slices.Concat(parsed(t, "."), parsed(t, "../internal/onboard/karpenter"))), "condition")
	listed := slices.DeleteFunc(column(page, "Conditions", 0), func(c string) bool { return c == string(metav1.ConditionFalse) })
	if diff := cmp.Diff(types, listed); diff != "" {
		t.Errorf("the conditions in docs/metrics.md: -code +page\n%s", diff)
	}
	if spelled := literals(own); len(spelled) > 0 {
		t.Errorf("reasons that are no constants: %v", spelled)
	}
}
