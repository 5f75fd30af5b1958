package match

import (
	"fmt"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// MissKind sorts misses by the constraint that decided.
type MissKind int

// The kinds of a Miss. Where several places are missed for different reasons,
// the later kind is the nearer miss.
const (
	None MissKind = iota
	Deleting
	Unsupported
	NodeGone
	Volume
	Taint
	Restricted
	UnknownLabel
	Label
	TypeLabel
	Offering
	Unavailable
	Blocked
	Resource
	Variety
	Port
	Limit
	Topology
	Held
	// Exhausted: finding out takes more work than a pod may take.
	Exhausted
)

// Miss says which constraint keeps a pod from a place, and by how much. The zero
// value means that nothing does.
type Miss struct {
	Kind MissKind
	// Key is the label, taint or resource.
	Key string
	// Want and Have are the two sides that do not meet.
	Want string
	Have string
	// Hint is what comes nearest: the value that was probably meant, the instance
	// type that lacks the least, the least that a limit would have to allow.
	Hint string
}

// Missed reports whether there is a miss.
func (m Miss) Missed() bool { return m.Kind != None }

// AboutLabel reports whether a label or name that was asked for decided.
func (m Miss) AboutLabel() bool {
	return m.Kind == Label || m.Kind == TypeLabel || m.Kind == Offering || m.Kind == NodeGone
}

// String completes a sentence that begins with the name of the place: "default
// has no instance type with ...".
func (m Miss) String() string {
	switch m.Kind {
	case None:
		return "fits"
	case Blocked:
		return "cannot buy now: " + m.Want
	case Deleting:
		return "is being deleted"
	case NodeGone:
		return "cannot give a machine a name, and the pod requires a node with metadata.name " + m.Want
	case Taint:
		return fmt.Sprintf("has the taint %s, which the pod does not tolerate", m.Key)
	case Restricted:
		return fmt.Sprintf("cannot give nodes the label %s %s: it %s", m.Key, m.Want, m.Have) + m.meantLabel()
	case UnknownLabel:
		return fmt.Sprintf("does not define the label %q", m.Key) + m.meantLabel()
	case Label:
		if m.Want == "" {
			return fmt.Sprintf("has requirements on %s that no value can meet", m.Key)
		}
		return fmt.Sprintf("requires %s %s, the pod requires %s", m.Key, m.Have, m.Want)
	case TypeLabel:
		return fmt.Sprintf("has no instance type with %s %s", m.Key, m.Want) + m.only() + m.meant()
	case Offering:
		return fmt.Sprintf("has no offering with %s", m.Want) + m.only()
	case Unavailable:
		return fmt.Sprintf("has no offering available now: %s", m.Want)
	case Resource:
		if m.Hint != "" {
			return fmt.Sprintf("has no instance type with %s together: the nearest, %s, has %s", m.Want, m.Hint, m.Have)
		}
		if m.Have == "0" {
			return fmt.Sprintf("has no instance type with %s, none has any", m.Want) + m.option()
		}
		return fmt.Sprintf("has no instance type with %s, the largest has %s", m.Want, m.Have)
	case Variety:
		text := fmt.Sprintf("demands a choice of at least %s values of %s (minValues), and the machines that hold the pod ", m.Want, m.Key)
		if m.Have == "" {
			return text + "leave less"
		}
		return text + "have " + m.Have
	case Limit:
		if m.Want == "" {
			return "has limits that leave room for none of the instance types that the pod fits on"
		}
		if m.Key == amount.Nodes {
			return fmt.Sprintf("would exceed its limit of %s: %s in use or planned", m.Want, m.Have)
		}
		return fmt.Sprintf("would exceed its limit of %s: %s in use or planned, and the smallest machine for the pod has %s", m.Want, m.Have, m.Hint)
	case Unsupported, Volume, Port, Topology, Held, Exhausted:
		return m.Want
	}
	return m.Want
}

// option names the option of the agent that the resource needs.
func (m Miss) option() string {
	name := offer.OptionOf(m.Key)
	if name == "" {
		return ""
	}
	return ": machines offer it only with the agent's option " + name
}

// meantLabel proposes the label that was probably meant. Looking for it takes longer
// than the decision, so that only what is reported looks.
func (m Miss) meantLabel() string {
	m.Hint, _ = api.Suggest(m.Key, append(api.WellKnownLabels(), api.LabelProvisioner))
	return m.meant()
}

// meant proposes what was probably meant.
func (m Miss) meant() string {
	if m.Hint == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", m.Hint)
}

// only says what there is instead.
func (m Miss) only() string {
	if m.Have == "" {
		return ""
	}
	return ", only with " + m.Have
}
