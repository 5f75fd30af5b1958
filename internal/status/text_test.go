package status

import (
	"strings"
	"testing"
	"time"
	"unicode"
)

// The text says what the page says.
func TestText(t *testing.T) {
	s := busy(t)
	text := s.Text()
	want := []string{"2 pods cannot be placed", "34.2% above", "34 of 60 cpu", s.Pending[0].Why, "held  ", "█"}
	for _, n := range s.Nodes {
		want = append(want, n.Node, n.Why)
	}
	for _, l := range s.Leaving {
		if l.At.Sub(s.At) <= soon {
			want = append(want, l.What)
		}
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
}

// What is due in a month is not being removed, and hides nothing that is.
func TestTextOfRemovals(t *testing.T) {
	s := Status{Leading: true, At: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	s.Leaving = []Leaving{{Node: "stuck", What: "is held", Blocked: true}, {Node: "going", What: "goes"}}
	for i := range 300 {
		s.Leaving = append(s.Leaving, Leaving{Node: "n", What: "expires", At: s.At.Add(time.Duration(5+i) * time.Hour)})
	}
	_, text, _ := strings.Cut(s.Text(), "Nodes being removed\n")
	now, due, _ := strings.Cut(text, "Removals that are due\n")
	if now != "  held  stuck is held\n  now  going goes\n\n" {
		t.Errorf("being removed: %q", now)
	}
	if n := strings.Count(due, "expires"); n != maxListed || !strings.Contains(due, "\n  288 nodes later\n") {
		t.Errorf("%d due: %s", n, due)
	}
}

// Pods that wait for the same reason are named, as far as there is room.
func TestTextNamesPods(t *testing.T) {
	s := Status{Leading: true, At: time.Unix(1, 0)}
	s.Pending = []Pending{
		{Why: "why", Count: 1, Pods: []string{"a/a"}}, {Why: "why", Count: 2, Pods: []string{"b/a", "b/b"}},
		{Why: "why", Count: 9, Pods: []string{"c/a", "c/b", "c/c", "c/d"}},
	}
	s.Recent = []Event{{At: s.At, Warning: true, Reason: "LaunchFailed", Object: "Provisioner p", Message: "refused"}}
	for _, want := range []string{"  a/a: why\n", "  b/a, b/b: why\n", "  9 pods: c/a, c/b, c/c and 6 more: why\n", "  Warning LaunchFailed  Provisioner p: refused\n"} {
		if !strings.Contains(s.Text(), want) {
			t.Errorf("%q is missing in %s", want, s.Text())
		}
	}
}

// What others have written does not command the terminal.
func TestTextHasNoControlCharacters(t *testing.T) {
	s := busy(t)
	s.Nodes[0].Why = "\x1b[2J\x07 \u009b31m\nby nobody"
	if text := strings.ReplaceAll(s.Text(), "\n", ""); strings.ContainsFunc(text, unicode.IsControl) || !strings.Contains(s.Text(), " by nobody\n") {
		t.Errorf("%q", s.Text())
	}
}

func TestTextOfStandby(t *testing.T) {
	if got := (&Status{}).Text(); got != "This replica stands by\nAnother replica of the agent leads and knows the status.\n" {
		t.Errorf("%q", got)
	}
}

// A limit and what is used of it are in like units, whatever the quantities were written in.
func TestLimitsInWords(t *testing.T) {
	l := Limit{Resource: "memory", Used: "12058624Ki", Limit: "16384Mi"}
	if got, want := l.Words("of"), "11.5Gi of 16Gi memory"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Pods that have room on other nodes need none that costs anything, which is a bound, and not an unknown one.
func TestDistanceWhereNothingNeedsToBeBought(t *testing.T) {
	for _, c := range []struct {
		price, rebought float64
		want            string
	}{
		{0.2, 0.1, "No lower bound on the price for these pods is known."},
		{0.2, 0, "The same 3 pods would need no new nodes: nodes without a Provisioner have room for them."},
		{0, 0, "No choice of nodes for the same 3 pods costs less"},
	} {
		s := Status{HourlyPrice: c.price, Bound: &Bound{Pods: 3, Rebought: c.rebought}}
		if got := s.distance(); !strings.HasPrefix(got, c.want) {
			t.Errorf("price %v, rebought for %v: %q, want %q", c.price, c.rebought, got, c.want)
		}
	}
}
