package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/retire"
)

// Consolidation says which nodes in use go now, which will go, and why the others stay. Prices
// are in dollars per hour, costs in dollars.
type Consolidation struct {
	// HourlyPrice is that of the nodes of Provisioners that consolidate. Open is what could
	// be saved of it and is not yet; Held says what holds it, the most first.
	HourlyPrice float64             `json:"hourlyPrice"`
	Open        float64             `json:"open"`
	Held        []ConsolidationHeld `json:"held"`
	Steps       []ConsolidationStep `json:"steps"`
	Stays       []ConsolidationStay `json:"stays"`
}

// ConsolidationHeld sums up the nodes that stay for the same kind of reason.
type ConsolidationHeld struct {
	// Blocker is as in the metrics: protection, pdb, quiet-time, budget, spot or does-not-pay.
	Blocker string `json:"blocker"`
	Nodes   int    `json:"nodes"`
	// Open is what the steps would save that wait for it. Of nodes that it keeps from being
	// looked at, it is the price of the room that no pod requests.
	Open float64 `json:"open"`
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
	// Unused is the price of the room on it that no pod requests; left out where no cheaper
	// place was found for its pods.
	Unused float64 `json:"unused,omitempty"`
}

// OfConsolidation returns what a plan says about nodes in use; nil if it says nothing.
func OfConsolidation(c *decide.Consolidation) *Consolidation {
	if c == nil {
		return nil
	}
	out := &Consolidation{HourlyPrice: c.HourlyPrice.Dollars(), Held: []ConsolidationHeld{}, Steps: []ConsolidationStep{}, Stays: []ConsolidationStay{}}
	for i := range c.Steps {
		st := &c.Steps[i]
		out.Steps = append(out.Steps, ConsolidationStep{
			Nodes: st.Nodes, Moves: st.Moves, Machines: st.Machines, Saving: st.Saving.Dollars(), Cost: st.Cost.Dollars(),
			Going: st.Going, Due: st.Due, Blocker: string(st.Blocker), Why: st.Why,
		})
		if !st.Going {
			out.hold(string(st.Blocker), len(st.Nodes), st.Saving.Dollars())
		}
	}
	for _, n := range c.Stays {
		out.Stays = append(out.Stays, ConsolidationStay{Node: n.Node, Blocker: string(n.Blocker), Why: n.Why, Unused: n.Unused.Dollars()})
		out.hold(string(n.Blocker), 1, n.Unused.Dollars())
	}
	slices.SortFunc(out.Held, func(a, b ConsolidationHeld) int {
		return cmp.Or(cmp.Compare(b.Open, a.Open), strings.Compare(a.Blocker, b.Blocker))
	})
	return out
}

func (c *Consolidation) hold(blocker string, nodes int, open float64) {
	i := slices.IndexFunc(c.Held, func(h ConsolidationHeld) bool { return h.Blocker == blocker })
	if i < 0 {
		i = len(c.Held)
		c.Held = append(c.Held, ConsolidationHeld{Blocker: blocker})
	}
	c.Held[i].Nodes += nodes
	c.Held[i].Open += open
	c.Open += open
}

// Words says what the step would do, and what holds it.
func (s *ConsolidationStep) Words() string {
	what := "would need "
	switch {
	case s.Saving > 0:
		what = fmt.Sprintf("would save $%.4f per hour for ", s.Saving)
	case len(s.Nodes) > s.Machines:
		what = "would take fewer nodes for "
	}
	what += fmt.Sprintf("%s worth $%.4f", Plural(s.Moves, "eviction"), s.Cost)
	if s.Machines > 0 {
		what += " and " + Plural(s.Machines, "new machine")
	}
	if s.Why != "" {
		what += ", but waits: " + s.Why
	}
	return what
}

// Headline says how much could be saved.
func (c *Consolidation) Headline() string {
	if c.Open == 0 {
		return fmt.Sprintf("Consolidation could save nothing of the $%.4f per hour that nodes of consolidating Provisioners cost.", c.HourlyPrice)
	}
	return fmt.Sprintf("Consolidation could save about $%.4f of the $%.4f per hour that nodes of consolidating Provisioners cost.", c.Open, c.HourlyPrice)
}

// Words says what holds the nodes, and what could be saved without it.
func (h *ConsolidationHeld) Words() string {
	out := Plural(h.Nodes, "node") + " held by " + blockers[retire.Blocker(h.Blocker)]
	if h.Open > 0 {
		out += fmt.Sprintf(", about $%.4f per hour", h.Open)
	}
	return out
}

var blockers = map[retire.Blocker]string{
	retire.BlockedProtection: "protection of the node or of a pod",
	retire.BlockedPDB:        "PodDisruptionBudgets",
	retire.BlockedQuiet:      "the quiet time after pods came or went",
	retire.BlockedBudget:     "disruption budgets and windows",
	retire.BlockedSpot:       "too few instance types to replace spot by spot",
	retire.BlockedUnpaid:     "moves that do not pay, or not yet",
}

// Waiting lists the steps that do not go now.
func (c *Consolidation) Waiting() []Line {
	var out []Line
	for i := range c.Steps {
		if st := &c.Steps[i]; !st.Going {
			out = append(out, Line{strings.Join(st.Nodes, ", "), st.Words()})
		}
	}
	return out
}

// Reasons folds the nodes in no step by why they stay, in order of first appearance.
func (c *Consolidation) Reasons() []Reason {
	var out reasons
	for _, n := range c.Stays {
		out.add(n.Why, n.Node)
	}
	return out.list
}

// inUse lists what is said of nodes in use that stay.
func (r *Report) inUse() []Topic {
	if r.Consolidation == nil {
		return nil
	}
	held := Topic{Heading: "What keeps nodes in use from being consolidated"}
	for i := range r.Consolidation.Held {
		held.Items = append(held.Items, Line{Text: r.Consolidation.Held[i].Words()})
	}
	return []Topic{held, {Heading: "Nodes in use that stay", Items: slices.Concat(r.Consolidation.Waiting(), items(r.Consolidation.Reasons()))}}
}
