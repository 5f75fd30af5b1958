package archtest

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fieldWords are what the field says instead of words that this project once made up.
var fieldWords = map[string]string{
	"told":         "reported, logged, set",
	"anew":         "again",
	"glance":       "status snapshot",
	"lookout":      "status cache",
	"heirs":        "successors",
	"reprieve":     "cancelled disruption",
	"farewell":     "voluntary disruption",
	"foresee":      "presume unschedulable",
	"foreseen":     "presumed unschedulable",
	"announced":    "expected replicas",
	"homeless":     "needs capacity",
	"housed":       "placed",
	"seller":       "provisioner, or pool",
	"kinship":      "class key",
	"bargain":      "rank, or price",
	"worths":       "values, or dual prices",
	"footing":      "topology signature",
	"sufferers":    "group",
	"plight":       "cause",
	"dear":         "expensive",
	"rehome":       "relocate",
	"unremarkable": "schema-valid",
	"thin":         "prune",
	"judge":        "assess, measure, or validate",
	"judges":       "checks",
	"judged":       "assessed, or checked",
	"bounding":     "problem of the bound, or limit",
	"loose":        "owner unknown",
}

// planningWords are words that have another meaning elsewhere, and none in the packages that plan.
var planningWords = map[string]string{
	"cell":     "combination of domains",
	"cells":    "combinations of domains",
	"site":     "node, or node view",
	"sites":    "nodes, or node views",
	"settle":   "resolve, relocate, or schedule",
	"settles":  "resolves, relocates, or schedules",
	"settled":  "resolved, decided, or placed",
	"resettle": "relocate",
	"rate":     "dual price, or price per unit",
	"rates":    "dual prices, or unit prices",
	"lot":      "pod group, or item",
	"lots":     "pod groups, or items",
	"rivals":   "Pareto front",
	"bond":     "constraint",
	"pour":     "water-filling",
	"shift":    "relocate",
	"dissolve": "merge",
	"rework":   "buy again",
}

// plans reports whether a package plans. The words of tables and reports are no matter of plans.
func plans(short string) bool { return layerOf(short) == decision && short != "internal/explain" }

var words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// TestWordsAreTheFieldsWords looks at names and comments of product code.
func TestWordsAreTheFieldsWords(t *testing.T) {
	eachFile(t, func(f *sourceFile) {
		if f.isTest || f.generated {
			return
		}
		instead := maps.Clone(fieldWords)
		if plans(f.pkg.short()) {
			maps.Copy(instead, planningWords)
		}
		check := func(line int, text string) {
			for _, w := range words.FindAllString(text, -1) {
				if say := instead[strings.ToLower(w)]; say != "" {
					t.Errorf("%s:%d: %q: say %s", f.path, line, w, say)
				}
			}
		}
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				check(f.at(c.Pos()), c.Text)
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				check(f.at(id.Pos()), id.Name)
			}
			return true
		})
	})
}

// plainNames are names that types of several packages have and that need no explanation.
var plainNames = []string{
	"Consolidation", "DaemonSet", "Input", "Item", "Limits", "List", "Machine", "Node", "Offering",
	"Place", "Plan", "Pod", "Problem", "Provisioner", "Reason", "Removal", "Requirement", "Rules",
	"Search", "Set", "Settings", "Unplaced",
}

// sharedName is a row of the glossary's table of names that several types have.
var sharedName = regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]*)` \\|")

// TestTypeNamesHaveOneMeaning holds that exported types of the core have different names, unless
// the glossary says what all types of a name have in common, or that is plain.
func TestTypeNamesHaveOneMeaning(t *testing.T) {
	glossary, err := os.ReadFile(filepath.Join("..", "..", "docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]bool{}
	for _, name := range plainNames {
		shared[name] = true
	}
	for _, row := range sharedName.FindAllStringSubmatch(string(glossary), -1) {
		shared[row[1]] = true
	}
	packages := coreTypes(t)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if in := packages[name]; len(in) > 1 && !shared[name] {
			t.Errorf("the type %s is declared in %s: rename those that mean something else, or say in docs/glossary.md what it means in all of them", name, strings.Join(in, ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		if len(packages[name]) < 2 {
			t.Errorf("docs/glossary.md or plainNames says that several types are called %s: %d is", name, len(packages[name]))
		}
	}
}

// coreTypes returns the packages of nouns and decisions that declare an exported type, by its name.
// Another name for a type declares none.
func coreTypes(t *testing.T) map[string][]string {
	out := map[string][]string{}
	eachFile(t, func(f *sourceFile) {
		if own := layerOf(f.pkg.short()); f.isTest || own != noun && own != decision {
			return
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() && !spec.Assign.IsValid() {
				out[spec.Name.Name] = append(out[spec.Name.Name], f.pkg.short())
			}
			return true
		})
	})
	return out
}
