package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// teller tells people what is going on, in colour where that can be seen.
type teller struct {
	out         io.Writer
	green, bold string
	plain       string
}

func newTeller(out io.Writer) *teller {
	if !isTerminal(out) {
		return &teller{out: out}
	}
	return &teller{out: out, green: "\x1b[32m", bold: "\x1b[1m", plain: "\x1b[0m"}
}

// isTerminal says whether w is a terminal of somebody who likes colour
// (https://no-color.org).
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}

// done tells that a step is done.
func (t *teller) done(step string) {
	fmt.Fprintf(t.out, "%s✓%s %s\n", t.green, t.plain, step)
}

func (t *teller) note(text string) {
	fmt.Fprintf(t.out, "%s%s%s\n", t.bold, text, t.plain)
}
