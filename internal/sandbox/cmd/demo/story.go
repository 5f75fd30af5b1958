package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// story prints what happens: chapters, timed lines, and on a terminal one live
// line at the bottom. Elsewhere it prints plain lines only.
type story struct {
	mu       sync.Mutex
	out      io.Writer
	started  time.Time
	terminal bool
	live     bool // a live line stands on the terminal
	chapters int
}

func newStory(out *os.File) *story {
	terminal := term.IsTerminal(int(out.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &story{out: out, started: time.Now(), terminal: terminal}
}

// The few styles that the story uses, as ANSI codes.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
	blue  = "36"
)

// paint colours text on a terminal.
func (s *story) paint(style, text string) string {
	if !s.terminal {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (s *story) chapter(title string) {
	s.chapters++
	s.print("\n" + s.paint(bold, fmt.Sprintf("%d. %s", s.chapters, title)) + "\n")
}

// say prints one line with the time since the start.
func (s *story) say(format string, args ...any) {
	s.print(s.stamp() + fmt.Sprintf(format, args...) + "\n")
}

// show prints text as it is.
func (s *story) show(text string) { s.print(text) }

// progress replaces the live line; without a terminal it does nothing.
func (s *story) progress(format string, args ...any) {
	if !s.terminal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, "\r\x1b[2K%s%s", s.stamp(), s.paint(dim, fmt.Sprintf(format, args...)))
	s.live = true
}

func (s *story) fail(err error) {
	s.print("\n" + s.paint(red, "the demo stopped: "+err.Error()) + "\n")
}

func (s *story) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		_, _ = fmt.Fprint(s.out, "\r\x1b[2K")
		s.live = false
	}
	_, _ = fmt.Fprint(s.out, text)
}

func (s *story) stamp() string {
	return s.paint(dim, fmt.Sprintf("%6.1fs  ", time.Since(s.started).Seconds()))
}

// bar draws a share of 0 to 1 in ten cells.
func bar(share float64) string {
	full := int(share*10 + 0.5)
	full = min(max(full, 0), 10)
	return strings.Repeat("█", full) + strings.Repeat("░", 10-full)
}

// count renders a number with its noun: "1 node", "2 nodes".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
