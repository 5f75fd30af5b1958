package archtest

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
	fenced     = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	anchorTag  = regexp.MustCompile(`<a id="([^"]+)">`)
)

// pages returns the text of each Markdown page, by its path from the root of the
// checkout. Fenced blocks are left out: they hold no links and no headings.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	files := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "internal/decide/testdata/README.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = fenced.ReplaceAllString(string(text), "")
	}
	return out
}

// relativeLinks returns the targets of a page's links to this repository, resolved
// from its root, with their anchors.
func relativeLinks(name, text string) (out []string) {
	for _, found := range linkTarget.FindAllStringSubmatch(text, -1) {
		target, err := url.Parse(found[1])
		if err != nil || target.IsAbs() {
			continue
		}
		file := name
		if target.Path != "" {
			file = path.Join(path.Dir(name), target.Path)
		}
		out = append(out, file+"#"+target.Fragment)
	}
	return out
}

// anchors returns what links to a page may name, as GitHub derives it from headings.
func anchors(text string) map[string]bool {
	out := map[string]bool{"": true}
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		out[anchorOf(found[1])] = true
	}
	for _, found := range anchorTag.FindAllStringSubmatch(text, -1) {
		out[found[1]] = true
	}
	return out
}

func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127:
			return r
		}
		return -1
	}, strings.ToLower(title))
}

// TestLinksLeadSomewhere holds that each link between the pages names a file that
// exists and, where it has an anchor, a heading of that page.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, link := range relativeLinks(name, all[name]) {
			file, anchor, _ := strings.Cut(link, "#")
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, file)
				continue
			}
			if text, ok := all[file]; ok && !anchors(text)[anchor] {
				t.Errorf("%s links to %s#%s, which has no such heading", name, file, anchor)
			}
		}
	}
}

// TestPagesCanBeFound holds that a reader who starts at README.md reaches every page.
func TestPagesCanBeFound(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{}
	next := []string{"README.md", "CHANGELOG.md"}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if reached[name] {
			continue
		}
		reached[name] = true
		for _, link := range relativeLinks(name, all[name]) {
			file, _, _ := strings.Cut(link, "#")
			if _, ok := all[file]; ok {
				next = append(next, file)
			}
			for other := range all { // a folder shows all that is in it
				if path.Dir(other) == file {
					next = append(next, other)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !reached[name] {
			t.Errorf("no chain of links leads from README.md to %s", name)
		}
	}
}
