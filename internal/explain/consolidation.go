package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Consolidation says of nodes in use which go, which will, and why the others stay.
// Prices are in dollars per hour, costs in dollars.
type Consolidation struct {
	// HourlyPrice is that of the nodes of Provisioners that consolidate, Open what the
	// steps that do not go now would save.
	HourlyPrice float64             `json:"hourlyPrice"`
	Open        float64             `json:"open"`
	Steps       []ConsolidationStep `json:"steps"`
	Stays       []ConsolidationStay `json:"stays"`
}

// ConsolidationStep is a number of nodes that go together.
type ConsolidationStep struct {
	Nodes    []string `json:"nodes"`
	Moves    int      `json:"moves"`
	Machines int      `json:"machines"`
	Saving   float64  `json:"saving"`
	Cost     float64  `json:"cost"`
	// Going: the nodes go now. Otherwise Blocker and Why say what holds them, and Due is
	// when the step pays.
	Going   bool      `json:"going"`
	Due     time.Time `json:"due"`
	Blocker string    `json:"blocker,omitempty"`
	Why     string    `json:"why,omitempty"`
}

// ConsolidationStay is a node in use that stays.
type ConsolidationStay struct {
	Node    string `json:"node"`
	Blocker string `json:"blocker"`
	Why     string `json:"why"`
}

// consolidation tells what a plan says of nodes in use; nil where it says nothing.
func consolidation(c *decide.Consolidation) *Consolidation {
	if c == nil {
		return nil
	}
	out := &Consolidation{HourlyPrice: c.HourlyPrice.Dollars(), Steps: []ConsolidationStep{}, Stays: []ConsolidationStay{}}
	for i := range c.Steps {
		st := &c.Steps[i]
		out.Steps = append(out.Steps, ConsolidationStep{
			Nodes: st.Nodes, Moves: st.Moves, Machines: st.Machines, Saving: st.Saving.Dollars(), Cost: st.Cost.Dollars(),
			Going: st.Going, Due: st.Due, Blocker: string(st.Blocker), Why: st.Why,
		})
		if !st.Going {
			out.Open += st.Saving.Dollars()
		}
	}
	for _, n := range c.Stays {
		out.Stays = append(out.Stays, ConsolidationStay{Node: n.Node, Blocker: string(n.Blocker), Why: n.Why})
	}
	return out
}

// Words says what the step would do, and what holds it.
func (s *ConsolidationStep) Words() string {
	what := fmt.Sprintf("would save $%.4f per hour for %s worth $%.4f", s.Saving, Plural(s.Moves, "eviction"), s.Cost)
	if s.Machines > 0 {
		what += " and " + Plural(s.Machines, "new machine")
	}
	if s.Why != "" {
		what += ", but waits: " + s.Why
	}
	return what
}

// inUse lists what is said of nodes in use that stay.
func (r *Report) inUse() Topic {
	out := Topic{Heading: "Nodes in use that stay"}
	if r.Consolidation == nil {
		return out
	}
	for i := range r.Consolidation.Steps {
		if st := &r.Consolidation.Steps[i]; !st.Going {
			out.Items = append(out.Items, Item{strings.Join(st.Nodes, ", "), st.Words()})
		}
	}
	var why reasons
	for _, n := range r.Consolidation.Stays {
		why.add(n.Why, n.Node)
	}
	out.Items = append(out.Items, Items(why.list)...)
	return out
}
