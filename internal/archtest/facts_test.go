package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A fact is a behaviour that decisions are held to.
type fact struct {
	id      string
	differs bool // answered in another way, which docs/conformance.md explains
}

var factID = regexp.MustCompile(`\b[A-Z]+-[0-9]{3}\b`)

func factsIn(t *testing.T, file string) []fact {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []fact
	for line := range strings.Lines(string(data)) {
		line, differs := strings.CutPrefix(line, "! ")
		if id, statement, _ := strings.Cut(strings.TrimSpace(line), " "); factID.MatchString(id) {
			if statement == "" {
				t.Errorf("%s says nothing", id)
			}
			out = append(out, fact{id, differs})
		}
	}
	return out
}

// TestFactsAreTested finds the tests of all facts by their ids, and the reasons for
// those that differ.
func TestFactsAreTested(t *testing.T) {
	tested := map[string]bool{}
	eachFile(t, func(f *sourceFile) {
		if !f.isTest {
			return
		}
		data, err := os.ReadFile(f.fset.File(f.syntax.FileStart).Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range factID.FindAllString(string(data), -1) {
			tested[id] = true
		}
	})
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	var facts []fact
	for _, list := range []string{"scheduling-facts.txt", "life-facts.txt", "consolidation-facts.txt", "aws-facts.txt"} {
		facts = append(facts, factsIn(t, filepath.Join("testdata", list))...)
	}
	if len(facts) == 0 {
		t.Fatal("there are no facts")
	}
	for _, f := range facts {
		if !tested[f.id] {
			t.Errorf("no test names %s", f.id)
		}
		if explained := strings.Contains(string(docs), f.id); explained != f.differs {
			t.Errorf("%s: the list says that it differs: %t; docs/conformance.md explains it: %t", f.id, f.differs, explained)
		}
	}
}
