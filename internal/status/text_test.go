package status

import (
	"strings"
	"testing"
)

// The text says what the page says.
func TestText(t *testing.T) {
	s := busy(t)
	text := Text{}.Render(s)
	want := []string{"2 pods cannot be placed", "31.6% above", "32 of 60 cpu", s.Pending[0].Why, "held  ", "█"}
	for _, n := range s.Nodes {
		want = append(want, n.Node, n.Why)
	}
	for _, l := range s.Leaving {
		want = append(want, l.What)
	}
	for _, e := range s.Recent {
		want = append(want, e.Message)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing", w)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("it has colours")
	}
}

func TestTextFits(t *testing.T) {
	s := busy(t)
	text := Text{Width: 60, Rows: 3}.Render(s)
	for line := range strings.SplitSeq(text, "\n") {
		if n := len([]rune(line)); n > 60 {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if !strings.Contains(text, "and 5 more") {
		t.Error("it does not say what it leaves out")
	}
}

func TestTextOfStandby(t *testing.T) {
	if got := (Text{}).Render(&Status{}); got != "This replica stands by\nAnother replica of the agent leads and knows the status.\n" {
		t.Errorf("%q", got)
	}
}
