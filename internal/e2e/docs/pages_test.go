package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the checkout.
const root = "../../.."

// page is a page of documentation with its fenced blocks, in order.
type page struct {
	path     string // from the root of the checkout, with slashes
	text     string
	snippets []snippet
}

type snippet struct {
	language string // as written behind the fence; empty for drawings and output
	text     string
}

var fence = regexp.MustCompile("(?ms)^[ ]*```([a-z]*)\n(.*?)^[ ]*```$")

// readPages returns every page that a user or a contributor reads.
func readPages(t *testing.T) []page {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS(root), "docs", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []page
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		p := page{path: file, text: string(text)}
		for _, found := range fence.FindAllStringSubmatch(p.text, -1) {
			p.snippets = append(p.snippets, snippet{found[1], found[2]})
		}
		out = append(out, p)
	}
	return out
}

// in returns the snippets of a page in one of the languages.
func (p page) in(languages ...string) (out []string) {
	for _, s := range p.snippets {
		if slices.Contains(languages, s.language) {
			out = append(out, s.text)
		}
	}
	return out
}

// terraform returns the snippets of a page that are Terraform configuration.
func (p page) terraform() []string { return p.in("terraform", "hcl") }

// runnable says whether a page has anything that a reader would run.
func (p page) runnable() bool {
	return slices.ContainsFunc(p.snippets, func(s snippet) bool { return s.language != "" && s.language != "text" })
}

// way is how the snippets of the pages that match a pattern are run.
type way struct {
	pattern string
	run     func(*reader, page)
}

// wayOf returns the first way whose pattern matches.
func wayOf(ways []way, p page) (way, bool) {
	i := slices.IndexFunc(ways, func(w way) bool {
		ok, err := path.Match(w.pattern, p.path)
		return err == nil && ok
	})
	if i < 0 {
		return way{}, false
	}
	return ways[i], true
}

// elsewhere are the pages whose snippets need what no sandbox has, with the test that
// runs them.
var elsewhere = map[string]string{
	"docs/status.md":                       "internal/e2e: wantGlance, by the agent's address; the sandbox's nodes forward no ports",
	"docs/guides/from-kubectl-manifest.md": "provider: TestGuideFromKubectlManifest, beside stand-ins of other providers",
}

// TestEverySnippetIsRun finds the pages that show something and that no test runs.
func TestEverySnippetIsRun(t *testing.T) {
	for _, p := range readPages(t) {
		if !p.runnable() || elsewhere[p.path] != "" {
			continue
		}
		_, withAgent := wayOf(pagesOfTheAgent, p)
		_, without := wayOf(otherPages, p)
		if !withAgent && !without {
			t.Errorf("%s shows commands or configuration that no test runs: name how in pagesOfTheAgent or otherPages", p.path)
		}
	}
}

// dependentAgent is an agent that depends on the modules of the cluster and of its network.
var dependentAgent = regexp.MustCompile(`resource "packhorse_agent" [^}]*depends_on = \[module\.eks, module\.vpc\]`)

// TestAgentDependsOnItsCluster holds that the agent depends on the cluster on all pages that have both in the
// same apply. Otherwise a destroy removes the agent's node and its route to AWS while it drains nodes.
func TestAgentDependsOnItsCluster(t *testing.T) {
	seen := 0
	for _, p := range readPages(t) {
		same := slices.ContainsFunc(p.terraform(), func(s string) bool {
			return strings.Contains(s, "cluster_name = module.eks.") || strings.Contains(s, "module.eks.") && strings.Contains(s, `resource "packhorse_agent"`)
		})
		if !same {
			continue
		}
		seen++
		if !slices.ContainsFunc(p.terraform(), dependentAgent.MatchString) {
			t.Errorf("%s: the agent does not depend on module.eks and module.vpc", p.path)
		}
	}
	if seen < 2 {
		t.Errorf("%d pages have a cluster in the same apply, want at least 2", seen)
	}
}

// makeLine is a line of a snippet that calls make.
var makeLine = regexp.MustCompile(`(?m)^make\b[^#\n]*`)

// TestTargetsExist holds that whatever the pages have make do is a target.
func TestTargetsExist(t *testing.T) {
	rules, err := os.ReadFile(filepath.Join(root, "GNUmakefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range readPages(t) {
		for _, s := range p.snippets {
			for _, line := range makeLine.FindAllString(s.text, -1) {
				for _, word := range strings.Fields(line)[1:] {
					if !strings.Contains(word, "=") && !strings.Contains(string(rules), "\n"+word+":") && !strings.HasPrefix(word, "/") {
						t.Errorf("%s: %q: there is no target %s", p.path, strings.TrimSpace(line), word)
					}
				}
			}
		}
	}
}
