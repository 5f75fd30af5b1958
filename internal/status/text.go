package status

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/explain"
)

// Text says the same as the page, for terminals.
func (s *Status) Text() string {
	w := &writer{}
	sum := s.Summary()
	w.line(sum.Title)
	if !s.Leading {
		w.line("Another replica of the agent leads and knows the status.")
		return w.String()
	}
	if s.At.IsZero() {
		return w.String()
	}
	w.line(fmt.Sprintf("%s per hour, %s (%d starting, %d being removed), %s on them, %d waiting; %s of CPU and %s of memory requested",
		dollars(s.HourlyPrice), explain.Plural(len(s.Nodes), "node"), sum.Starting, sum.Going, explain.Plural(sum.Running, "pod"), sum.Waiting, explain.Percent(sum.CPU), explain.Percent(sum.Memory)))
	if sum.Distance != "" {
		w.line(sum.Distance)
	}
	w.pending(s)
	w.provisioners(s)
	w.nodes(s)
	w.leaving(s)
	w.consolidation(s)
	w.unavailable(s)
	w.recent(s)
	w.line("")
	w.line(strings.TrimSpace(fmt.Sprintf("%s as of %s UTC, packhorse-agent %s", s.Cluster, clock(s.At, s.At), s.Version)))
	return w.String()
}

type writer struct{ strings.Builder }

// line writes a line. Control characters, which anybody may have written into a message, would command the terminal.
func (w *writer) line(text string) {
	w.WriteString(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, text) + "\n")
}

// list writes a heading and the lines below it.
func (w *writer) list(title string, n int, line func(int) string) {
	if n == 0 {
		return
	}
	w.line("")
	w.line(title)
	for i := range n {
		w.line("  " + line(i))
	}
}

// maxNamed is how many pods a line names.
const maxNamed = 3

func (w *writer) pending(s *Status) {
	w.list("Waiting for a node", len(s.Pending), func(i int) string {
		p := &s.Pending[i]
		who := strings.Join(p.Pods[:min(len(p.Pods), maxNamed)], ", ")
		if more := p.Count - maxNamed; more > 0 {
			who = fmt.Sprintf("%s: %s and %d more", explain.Plural(p.Count, "pod"), who, more)
		}
		return who + ": " + p.Why
	})
}

func (w *writer) provisioners(s *Status) {
	w.list("Provisioners", len(s.Provisioners), func(i int) string {
		p := &s.Provisioners[i]
		has := []string{explain.Plural(p.Nodes, "node"), dollars(p.HourlyPrice) + " per hour"}
		for _, l := range p.Limits {
			has = append(has, l.Words("of"))
		}
		text := p.Name + ": " + strings.Join(has, ", ")
		if !p.Ready {
			text += ". " + p.Reason + ": " + p.Message
		}
		if doubt := p.Doubt(); doubt != "" {
			text += ". " + doubt
		}
		return text
	})
}

// barWidth is that of the bars in the list of nodes, in characters.
const barWidth = 10

func (w *writer) nodes(s *Status) {
	width := 4
	for i := range s.Nodes {
		width = max(width, len(s.Nodes[i].Node))
	}
	w.list("Nodes", len(s.Nodes), func(i int) string {
		n := &s.Nodes[i]
		return fmt.Sprintf("%-*s  %-8s  %-13s %-9s  %s  CPU %s %4s  memory %s %4s  %s", width, n.Node, n.State, n.InstanceType, n.CapacityType,
			dollars(n.HourlyPrice), bar(n.Share(amount.CPU)), n.CPU(), bar(n.Share(amount.Memory)), n.Memory(), n.Why)
	})
}

func bar(share float64) string {
	full := int(min(1, max(0, share))*barWidth + 0.5)
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}

// soon is how long before a removal is due `top` lists it, and maxListed how many of these.
const (
	soon      = 24 * time.Hour
	maxListed = 12
)

func (w *writer) leaving(s *Status) {
	var going, due []string
	later := 0
	for i := range s.Leaving {
		switch l := &s.Leaving[i]; {
		case l.Blocked:
			going = append(going, fmt.Sprintf("held  %s %s", l.Node, l.What))
		case l.At.IsZero():
			going = append(going, fmt.Sprintf("now  %s %s", l.Node, l.What))
		case l.At.Sub(s.At) > soon || len(due) == maxListed:
			later++
		default:
			due = append(due, fmt.Sprintf("%s  %s %s", clock(s.At, l.At), l.Node, l.What))
		}
	}
	if later > 0 {
		due = append(due, explain.Plural(later, "node")+" later")
	}
	w.list("Nodes being removed", len(going), func(i int) string { return going[i] })
	w.list("Removals that are due", len(due), func(i int) string { return due[i] })
}

func (w *writer) consolidation(s *Status) {
	c := s.Consolidation
	if s.ConsolidationFailed {
		w.list("Consolidation", 1, func(int) string { return s.ConsolidationFailure() })
	}
	if c == nil {
		return
	}
	w.list("Consolidation", 1+len(c.Held), func(i int) string {
		if i == 0 {
			return c.Headline()
		}
		return c.Held[i-1].Words()
	})
	steps := c.Waiting()
	w.list("Nodes in use that stay", len(steps)+len(c.Stays), func(i int) string {
		if i < len(steps) {
			return steps[i].Name + ": " + steps[i].Text
		}
		n := &c.Stays[i-len(steps)]
		return n.Node + ": " + n.Why
	})
}

func (w *writer) unavailable(s *Status) {
	w.list("Unavailable offerings", len(s.Unavailable), func(i int) string {
		o := &s.Unavailable[i]
		return fmt.Sprintf("%s %s in %s: %s", o.InstanceType, o.CapacityType, o.Zone, o.Why)
	})
}

func (w *writer) recent(s *Status) {
	w.list("Recent events", len(s.Recent), func(i int) string {
		e := &s.Recent[i]
		reason := e.Reason
		if e.Warning {
			reason = "Warning " + reason
		}
		return fmt.Sprintf("%s  %s  %s: %s", clock(s.At, e.At), reason, e.Object, e.Message)
	})
}
