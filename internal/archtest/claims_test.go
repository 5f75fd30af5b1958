package archtest

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	never    = regexp.MustCompile(`(?i)\bnever\b`)
	testName = regexp.MustCompile("`(Test[A-Za-z0-9_]+)`")
)

// unchecked are pages that promise nothing themselves: decisions are history.
var unchecked = map[string]bool{"docs/adr": true}

// TestNeverNamesItsTest holds that whatever the documentation says never happens is
// tested: the paragraph or the row that says so names a test that exists.
func TestNeverNamesItsTest(t *testing.T) {
	tests := map[string]bool{}
	eachFile(t, func(f *sourceFile) {
		for _, d := range f.syntax.Decls {
			if function, ok := d.(*ast.FuncDecl); ok && f.isTest {
				tests[function.Name.Name] = true
			}
		}
	})
	root := filepath.Join("..", "..")
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, entry fs.DirEntry, err error) error {
		if unchecked[name] && entry.IsDir() {
			return fs.SkipDir
		}
		if err != nil || unchecked[name] || path.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		for _, claim := range claims(string(text)) {
			named := testName.FindAllStringSubmatch(claim, -1)
			if len(named) == 0 {
				t.Errorf("%s: says \"never\" and names no test that would fail: %.120s", name, claim)
			}
			for _, n := range named {
				if !tests[n[1]] {
					t.Errorf("%s: there is no test %s", name, n[1])
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// claims returns the paragraphs, items and rows of a page that say "never".
func claims(page string) (out []string) {
	for paragraph := range strings.SplitSeq(page, "\n\n") {
		parts := []string{paragraph}
		if strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "- ") {
			parts = strings.Split(paragraph, "\n")
		}
		for _, part := range parts {
			if never.MatchString(strings.ReplaceAll(part, "`Never`", "")) { // which is a value, no claim
				out = append(out, part)
			}
		}
	}
	return out
}
