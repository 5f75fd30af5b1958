package agent

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logged is a line that the code may write.
type logged struct {
	level, message string
	keys           []string
}

// vocabulary reads from the code what may be logged.
func vocabulary(t *testing.T) []logged {
	t.Helper()
	var out []logged
	for _, dir := range []string{".", "bind", "disrupt", "drain", "inventory", "launch", "nodes", "notice", "release", "planreport", "surge", "takeover", "view", "cmd/packhorse-agent", "../internal/kube", "../internal/aws"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && path != dir && dir == "." || entry.IsDir() && entry.Name() == "testdata" {
				return errorOrSkip(err)
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || entry.Name() == "klog.go" {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					out = append(out, lines(t, path, call)...)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func errorOrSkip(err error) error {
	if err != nil {
		return err
	}
	return filepath.SkipDir
}

var levels = map[string]string{"Trace": "trace", "Debug": "debug", "Info": "info", "Warn": "warn", "Error": "error"}

// lines is what a call logs, if it does.
func lines(t *testing.T, path string, call *ast.CallExpr) []logged {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || levels[selector.Sel.Name] == "" || len(call.Args) == 0 {
		return nil
	}
	switch on := selector.X.(type) {
	case *ast.Ident:
		ok = on.Name == "log"
	case *ast.SelectorExpr:
		ok = on.Sel.Name == "log" || on.Sel.Name == "Log"
	default:
		ok = false
	}
	if !ok {
		return nil
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		t.Errorf("%s: a log message is not a constant", path)
		return nil
	}
	text, _ := strconv.Unquote(literal.Value)
	out := logged{level: levels[selector.Sel.Name], message: text}
	for i := 1; i < len(call.Args); i += 2 {
		key, ok := call.Args[i].(*ast.BasicLit)
		if !ok {
			t.Errorf("%s: %q has a key that is not a constant", path, text)
			continue
		}
		name, _ := strconv.Unquote(key.Value)
		out.keys = append(out.keys, name)
	}
	return []logged{out}
}

// docs/logs.md lists each message with its level and its keys, and explains each key.
func TestLogsAreDocumented(t *testing.T) {
	const file = "../docs/logs.md"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := vocabulary(t)
	if len(all) < 30 {
		t.Fatalf("found %d lines in the code only", len(all))
	}
	rows, used := map[string]bool{}, map[string]bool{}
	for _, l := range all {
		slices.Sort(l.keys)
		rows[fmt.Sprintf("| `%s` | %s | %s |\n", l.message, l.level, strings.Join(l.keys, ", "))] = true
		for _, key := range l.keys {
			used[key] = true
		}
	}
	want := "| message | level | keys |\n| --- | --- | --- |\n" + strings.Join(slices.Sorted(maps.Keys(rows)), "")
	before, rest, _ := strings.Cut(string(raw), "<!-- messages -->\n")
	listed, after, ok := strings.Cut(rest, "<!-- end -->")
	if !ok {
		t.Fatalf("%s has no place for messages", file)
	}
	if *update {
		if err := os.WriteFile(file, []byte(before+"<!-- messages -->\n"+want+"<!-- end -->"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if listed != want {
		t.Errorf("%s is out of date: run go test ./agent -run %s -update", file, t.Name())
	}
	_, table, _ := strings.Cut(before, "<!-- keys -->\n")
	for row := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for name := range strings.SplitSeq(names, ", ") {
			delete(used, strings.Trim(name, "`"))
		}
	}
	if len(used) > 0 {
		t.Errorf("%s does not explain the keys %v", file, slices.Sorted(maps.Keys(used)))
	}
}
