package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	maxFileLines       = 500
	maxTestFileLines   = 800
	maxFunctionLines   = 70
	maxConstructorArgs = 4
	maxMethods         = 40
	maxPackageLines    = 2500 // without tests and generated files
)

// TestPackagesAreSmall holds that a package has one responsibility.
func TestPackagesAreSmall(t *testing.T) {
	lines := map[string]int{}
	eachFile(t, func(f *sourceFile) {
		if !f.isTest && !f.generated {
			lines[f.pkg.short()] += f.at(f.syntax.FileEnd)
		}
	})
	for name, n := range lines {
		if n > maxPackageLines {
			t.Errorf("%s has %d lines, the limit is %d: split it by responsibility", name, n, maxPackageLines)
		}
	}
}

// TestTypesAreSmall holds that a reader can hold a type in mind: splitting a file is not
// splitting a responsibility.
func TestTypesAreSmall(t *testing.T) {
	methods := map[string]int{}
	eachFile(t, func(f *sourceFile) {
		for _, d := range f.syntax.Decls {
			if function, ok := d.(*ast.FuncDecl); ok && function.Recv != nil && !f.isTest && !f.generated {
				methods[f.pkg.short()+"."+receiver(function)]++
			}
		}
	})
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, the limit is %d: split it by responsibility", name, n, maxMethods)
		}
	}
}

// receiver names the type of a method.
func receiver(function *ast.FuncDecl) string {
	e := function.Recv.List[0].Type
	for {
		switch typ := e.(type) {
		case *ast.StarExpr:
			e = typ.X
		case *ast.IndexExpr:
			e = typ.X
		case *ast.IndexListExpr:
			e = typ.X
		case *ast.Ident:
			return typ.Name
		default:
			return ""
		}
	}
}

// sourceFile is a parsed file of the module.
type sourceFile struct {
	pkg       *goPackage
	path      string // within the module
	fset      *token.FileSet
	syntax    *ast.File
	isTest    bool
	generated bool
}

func (f *sourceFile) at(p token.Pos) int { return f.fset.Position(p).Line }

// eachFile calls check for every file of the module.
func eachFile(t *testing.T, check func(*sourceFile)) {
	t.Helper()
	for _, p := range ours(t) {
		for _, path := range p.files() {
			fset := token.NewFileSet()
			syntax, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			check(&sourceFile{
				pkg: p, path: p.short() + "/" + filepath.Base(path), fset: fset, syntax: syntax,
				isTest: strings.HasSuffix(path, "_test.go"), generated: ast.IsGenerated(syntax),
			})
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	eachFile(t, func(f *sourceFile) {
		if f.generated {
			return
		}
		limit := maxFileLines
		if f.isTest {
			limit = maxTestFileLines
		}
		if lines := f.at(f.syntax.FileEnd); lines > limit {
			t.Errorf("%s has %d lines, the limit is %d: split it by topic", f.path, lines, limit)
		}
		for _, declaration := range f.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok {
				checkFunction(t, f, function)
			}
		}
	})
}

func checkFunction(t *testing.T, f *sourceFile, function *ast.FuncDecl) {
	t.Helper()
	name := function.Name.Name
	if lines := f.at(function.End()) - f.at(function.Pos()) + 1; lines > maxFunctionLines && !f.isTest {
		t.Errorf("%s:%d: %s has %d lines, the limit is %d", f.path, f.at(function.Pos()), name, lines, maxFunctionLines)
	}
	if strings.HasPrefix(name, "New") && function.Recv == nil && function.Type.Params.NumFields() > maxConstructorArgs {
		t.Errorf("%s:%d: %s has %d parameters, the limit is %d: take a struct",
			f.path, f.at(function.Pos()), name, function.Type.Params.NumFields(), maxConstructorArgs)
	}
}

// forbiddenCalls are functions by the import path of their package. Methods of
// *testing.T and its like are found by name.
var (
	forbiddenOnT = []string{"Skip", "Skipf", "SkipNow"}
	clockCalls   = map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	}
	forbiddenPackagesInCore = map[string]string{
		"math/rand": "no randomness", "math/rand/v2": "no randomness", "crypto/rand": "no randomness",
		"context": "no context", "log": "no logging", "log/slog": "no logging",
		"os": "no environment", "net": "no network", "net/http": "no network",
	}
)

func TestTestsNeitherSleepNorSkip(t *testing.T) {
	eachFile(t, func(f *sourceFile) {
		if !f.isTest {
			return
		}
		reportSleeps(t, f)
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isSkip(call) {
				t.Errorf("%s:%d: a test is not skipped: what it needs must be there", f.path, f.at(call.Pos()))
			}
			return true
		})
	})
}

// reportSleeps allows time.Sleep in a loop, where it paces the polling of a
// condition, and in packages that test with virtual time, where it advances it.
func reportSleeps(t *testing.T, f *sourceFile) {
	t.Helper()
	local, imported := importNames(f.syntax)["time"]
	if !imported || slices.Contains(slices.Concat(f.pkg.TestImports, f.pkg.XTestImports), "testing/synctest") {
		return
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if _, isLoop := n.(*ast.ForStmt); isLoop {
			return false
		}
		if selector, ok := n.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sleep" && isIdent(selector.X, local) {
			t.Errorf("%s:%d: a sleep synchronises nothing: poll a condition with a deadline, or use testing/synctest",
				f.path, f.at(selector.Pos()))
		}
		return true
	})
}

func isIdent(e ast.Expr, name string) bool {
	identifier, ok := e.(*ast.Ident)
	return ok && identifier.Name == name
}

// isSkip recognises t.Skip and its like by the usual names of test handles.
func isSkip(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	receiver, ok := selector.X.(*ast.Ident)
	if !ok || (receiver.Name != "t" && receiver.Name != "b" && receiver.Name != "tb" && receiver.Name != "f") {
		return false
	}
	return slices.Contains(forbiddenOnT, selector.Sel.Name)
}

// TestTheCoreIsPure holds that decisions have no clock, randomness, goroutines,
// logging or context: the same input gives the same plan.
func TestTheCoreIsPure(t *testing.T) {
	eachFile(t, func(f *sourceFile) {
		if f.isTest || layerOf(f.pkg.short()) != decision {
			return
		}
		for path := range importNames(f.syntax) {
			if reason, forbidden := forbiddenPackagesInCore[path]; forbidden {
				t.Errorf("%s imports %s: %s in the core", f.path, path, reason)
			}
		}
		reportCalls(t, f, clockCalls, "the core has no clock: take the time from the input")
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if statement, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s:%d: no goroutines in the core", f.path, f.at(statement.Pos()))
			}
			return true
		})
	})
}

// reportCalls reports uses of functions of imported packages.
func reportCalls(t *testing.T, f *sourceFile, forbidden map[string][]string, advice string) {
	t.Helper()
	names := importNames(f.syntax)
	for path, functions := range forbidden {
		local, imported := names[path]
		if !imported {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if ok && isIdent(selector.X, local) && slices.Contains(functions, selector.Sel.Name) {
				t.Errorf("%s:%d: no %s.%s: %s", f.path, f.at(selector.Pos()), path, selector.Sel.Name, advice)
			}
			return true
		})
	}
}

// importNames maps the paths that a file imports to the names that it uses.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		names[path] = path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			names[path] = spec.Name.Name
		}
	}
	return names
}
