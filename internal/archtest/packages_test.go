package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/packhorse-io/terraform-provider-packhorse"

// goPackage is what `go list -json` says about a package.
type goPackage struct {
	ImportPath   string
	Name         string
	Dir          string
	Standard     bool
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// files returns the names of the package's files with their folder.
func (p *goPackage) files() []string {
	var out []string
	for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
		out = append(out, p.Dir+"/"+name)
	}
	return out
}

// short is the path within the module.
func (p *goPackage) short() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// dependencies holds the module's packages and all that they import, by path.
var dependencies = sync.OnceValues(func() (map[string]*goPackage, error) {
	var stderr bytes.Buffer
	list := exec.Command("go", "list", "-deps", "-e",
		"-json=ImportPath,Name,Dir,Standard,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", module+"/...")
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, errors.New("go list: " + stderr.String())
	}
	packages := map[string]*goPackage{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages[p.ImportPath] = &p
	}
})

func load(t *testing.T) map[string]*goPackage {
	t.Helper()
	packages, err := dependencies()
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

// ours returns the module's own packages in the order of their paths.
func ours(t *testing.T) []*goPackage {
	t.Helper()
	var out []*goPackage
	for path, p := range load(t) {
		if path == module || strings.HasPrefix(path, module+"/") {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *goPackage) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	if len(out) < 2 {
		t.Fatalf("go list found %d packages of %s", len(out), module)
	}
	return out
}

// chain returns how from reaches to by imports, shortest first, or nil.
func chain(packages map[string]*goPackage, from string, to func(string) bool) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at != from && to(at) {
			var path []string
			for step := at; step != ""; step = came[step] {
				path = append(path, step)
			}
			slices.Reverse(path)
			return path
		}
		if p := packages[at]; p != nil && !p.Standard {
			for _, next := range p.Imports {
				if _, seen := came[next]; !seen {
					came[next] = at
					queue = append(queue, next)
				}
			}
		}
	}
	return nil
}
