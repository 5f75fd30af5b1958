package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/decide"
)

// Removal is a node that should go.
type Removal struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
	// Message is the reason in words.
	Message string `json:"message"`
	// Voluntary: nothing but the configuration asks for it.
	Voluntary bool `json:"voluntary"`
	// Replacements are the machines, and nodes that are starting, that must be up
	// before the node is drained.
	Replacements []string `json:"replacements,omitempty"`
}

// Kept is a node that has a reason to go and stays for now.
type Kept struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
	Why    string `json:"why"`
}

// Chosen is a node that an earlier plan has chosen to go.
type Chosen struct {
	Node string `json:"node"`
	// Verdict is go, wait or stay; Why says what it waits for or what keeps it.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
}

// Emptiness is a node that became empty (at Since), or that is used again.
type Emptiness struct {
	Node  string    `json:"node"`
	Since time.Time `json:"since,omitzero"`
}

// Move is a running pod of a node that goes.
type Move struct {
	Pod  string `json:"pod"`
	From string `json:"from"`

	workload string
}

// retire tells which nodes go, and which stay although they have a reason to go.
func (r *Report) retire(plan *decide.Plan) {
	for _, n := range plan.Removals {
		r.Removals = append(r.Removals, Removal{
			Node: n.Node, Reason: string(n.Reason), Message: n.Message, Voluntary: n.Reason.Voluntary(), Replacements: slices.Concat(n.Replacements, n.Starting),
		})
	}
	for _, n := range plan.Kept {
		r.Kept = append(r.Kept, Kept{Node: n.Node, Reason: string(n.Reason), Why: n.Why})
	}
	for _, n := range plan.Chosen {
		r.Chosen = append(r.Chosen, Chosen{Node: n.Node, Verdict: string(n.Verdict), Why: n.Why})
	}
	for _, n := range plan.Emptiness {
		r.Emptiness = append(r.Emptiness, Emptiness{Node: n.Node, Since: n.Since})
	}
}

// state says what has become of a node that has a reason to go.
func state(reason string) string {
	switch decide.RemovalReason(reason) {
	case decide.Empty:
		return "is empty"
	case decide.Expired:
		return "has expired"
	case decide.Drifted:
		return "has drifted"
	case decide.Consolidated:
		return "can be consolidated"
	case decide.NeverUp:
		return "did not start in time"
	case decide.Orphaned:
		return "loses its provisioner"
	case decide.Unhealthy:
		return "is unhealthy"
	}
	return "is to be removed (" + reason + ")"
}

// Words says why the node goes, and when.
func (n *Removal) Words() string {
	text := fmt.Sprintf("%s: %s", state(n.Reason), n.Message)
	if len(n.Replacements) > 0 {
		text += ", as soon as " + strings.Join(n.Replacements, " and ") + " can take its pods"
	}
	return text
}

// Words says what the node has done, and what holds it.
func (n *Kept) Words() string { return state(n.Reason) + " but is kept: " + n.Why }

// Words says what is to be done about the node now.
func (n *Chosen) Words() string {
	switch decide.Verdict(n.Verdict) {
	case decide.Wait:
		return "is waiting: " + n.Why
	case decide.Stay:
		return "is kept after all: " + n.Why
	}
	return "can be removed now"
}

// Words says what has happened to the node.
func (n *Emptiness) Words() string {
	if n.Since.IsZero() {
		return "is in use again"
	}
	return "has had no workload pods since " + amount.Clock(n.Since)
}

// Topic is a list with a heading; each item begins with a name.
type Topic struct {
	Heading string
	Items   []Line
}

// Line is what is to be said of something.
type Line struct{ Name, Text string }

// Retirement returns what happens to nodes besides getting pods.
func (r *Report) Retirement() []Topic {
	var goes, chosen, stays, empty []Line
	for i := range r.Removals {
		goes = append(goes, Line{r.Removals[i].Node, r.Removals[i].Words()})
	}
	for i := range r.Chosen {
		chosen = append(chosen, Line{r.Chosen[i].Node, r.Chosen[i].Words()})
	}
	for i := range r.Kept {
		stays = append(stays, Line{r.Kept[i].Node, r.Kept[i].Words()})
	}
	for i := range r.Emptiness {
		empty = append(empty, Line{r.Emptiness[i].Node, r.Emptiness[i].Words()})
	}
	return slices.Concat(
		[]Topic{{"Nodes to remove", goes}, {"Nodes already chosen for removal", chosen}, {"Nodes that are kept for now", stays}},
		r.inUse(),
		[]Topic{{"Nodes that have become empty or are in use again", empty}},
	)
}
