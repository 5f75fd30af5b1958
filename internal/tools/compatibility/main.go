// Command compatibility records in docs/compatibility.md what a run of tests has shown.
// It reads the output of `go test -json`, repeats what failed, and writes the row of the
// version that was tested only if everything passed.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	page := flag.String("page", "docs/compatibility.md", "`file` with the tables")
	table := flag.String("table", "", "the first word of the table's header, such as Engine")
	row := flag.String("row", "", "what was tested, such as \"OpenTofu 1.12.6\"")
	flag.Parse()
	if err := record(os.Stdin, os.Stdout, *page, *table, *row); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func record(in io.Reader, out io.Writer, page, table, row string) error {
	ran, err := read(in, out)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	ran.cells["Run on"] = time.Now().UTC().Format(time.DateOnly)
	written, err := write(string(text), table, row, ran.cells)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(written), 0o644) //nolint:gosec // A page of the documentation is for everybody.
}

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
}

// run is what a run of tests has shown: the cells of its row by the names of columns.
type run struct {
	passed  int
	failed  []string
	running map[string]bool // packages
	cells   map[string]string
}

// feature is what a test logs about something that not every version has.
var feature = regexp.MustCompile(`feature (.+): (yes|no)\n`)

// read reads a run and prints the results of packages and everything about tests that
// failed. It returns an error if a test or a package failed, if nothing ran, or if the output
// ends before a package does.
func read(in io.Reader, out io.Writer) (run, error) {
	r := run{cells: map[string]string{}, running: map[string]bool{}}
	printed := map[string][]string{} // by package and test, until it has passed
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			_, _ = fmt.Fprintln(out, lines.Text())
			continue
		}
		r.see(e, printed, out)
	}
	switch err := lines.Err(); {
	case err != nil:
		return r, err
	case len(r.failed) > 0:
		return r, fmt.Errorf("failed: %s", strings.Join(r.failed, ", "))
	case len(r.running) > 0:
		return r, fmt.Errorf("the run was cut off in %s", strings.Join(slices.Sorted(maps.Keys(r.running)), ", "))
	case r.passed == 0:
		return r, errors.New("no test ran")
	}
	r.cells["Tests passed"] = strconv.Itoa(r.passed)
	return r, nil
}

func (r *run) see(e event, printed map[string][]string, out io.Writer) {
	name := strings.TrimSuffix(e.Package+" "+e.Test, " ")
	if e.Test == "" {
		switch e.Action {
		case "start":
			r.running[e.Package] = true
		case "pass", "skip", "fail":
			delete(r.running, e.Package)
		}
	}
	switch e.Action {
	case "build-output":
		_, _ = fmt.Fprint(out, e.Output)
	case "output":
		printed[name] = append(printed[name], e.Output)
		if found := feature.FindStringSubmatch(e.Output); found != nil {
			r.cells[found[1]] = found[2]
		}
	case "pass", "skip":
		if e.Test == "" {
			_, _ = fmt.Fprintf(out, "%s\t%s\n", e.Action, e.Package)
		} else if e.Action == "pass" && !strings.Contains(e.Test, "/") {
			r.passed++
		}
		delete(printed, name)
	case "fail":
		r.failed = append(r.failed, name)
		_, _ = fmt.Fprintf(out, "FAIL %s\n%s\n", name, strings.Join(printed[name], ""))
	}
}

// write puts the cells into the row of the table with that first column. A column
// without a cell gets a dash. Rows stand in the order of their names.
func write(page, table, row string, cells map[string]string) (string, error) {
	lines := strings.Split(page, "\n")
	head := -1
	for i := range len(lines) - 1 {
		if strings.HasPrefix(lines[i], "| "+table+" |") && strings.HasPrefix(lines[i+1], "| --- |") {
			head = i
		}
	}
	if head < 0 {
		return "", fmt.Errorf("there is no table whose header begins with %q", table)
	}
	columns := split(lines[head])
	columns[0] = row
	for i, column := range columns[1:] {
		columns[i+1] = "–"
		if cell, ok := cells[column]; ok {
			columns[i+1] = cell
		}
	}
	first := head + 2 // after the line that rules off the header
	end := first
	for end < len(lines) && strings.HasPrefix(lines[end], "|") {
		end++
	}
	rows := slices.DeleteFunc(slices.Clone(lines[first:end]), func(line string) bool { return split(line)[0] == row })
	rows = append(rows, "| "+strings.Join(columns, " | ")+" |")
	slices.Sort(rows)
	return strings.Join(slices.Concat(lines[:first], rows, lines[end:]), "\n"), nil
}

// split returns the cells of a row.
func split(row string) []string {
	cells := strings.Split(strings.Trim(row, "| "), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
