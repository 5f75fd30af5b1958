package status

import (
	"strings"
	"testing"
)

// The text says what the page says.
func TestText(t *testing.T) {
	s := busy(t)
	text := Text{}.Render(s)
	want := []string{"2 pods cannot be placed", "34.2% above", "34 of 60 cpu", s.Pending[0].Why, "held  ", "█"}
	for _, n := range s.Nodes {
		want = append(want, n.Node, n.Why)
	}
	for _, l := range s.Leaving {
		want = append(want, l.What)
	}
	want = append(want, s.Consolidation.Headline(), s.Consolidation.Held[0].Words())
	for _, n := range s.Consolidation.Stays {
		want = append(want, n.Node+": "+n.Why)
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
	if !strings.Contains(text, "and 6 more") {
		t.Error("it does not say what it leaves out")
	}
}

func TestTextOfStandby(t *testing.T) {
	if got := (Text{}).Render(&Status{}); got != "This replica stands by\nAnother replica of the agent leads and knows the status.\n" {
		t.Errorf("%q", got)
	}
}
