package archtest

import (
	"go/ast"
	"regexp"
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
	"basin":        "water-filling",
	"sufferers":    "group",
	"plight":       "cause",
	"dear":         "expensive",
	"rehome":       "relocate",
	"unremarkable": "schema-valid",
}

var words = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)

// TestWordsAreTheFieldsWords looks at names and comments of product code.
func TestWordsAreTheFieldsWords(t *testing.T) {
	eachFile(t, func(f *sourceFile) {
		if f.isTest || f.generated {
			return
		}
		check := func(line int, text string) {
			for _, w := range words.FindAllString(text, -1) {
				if instead := fieldWords[strings.ToLower(w)]; instead != "" {
					t.Errorf("%s:%d: %q: say %s", f.path, line, w, instead)
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
