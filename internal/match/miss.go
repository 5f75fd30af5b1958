package match

import "fmt"

// Kind sorts misses by the constraint that decided.
type Kind int

// The kinds of a Miss. Where several places are missed for different reasons,
// the later kind is the nearer miss.
const (
	None Kind = iota
	Blocked
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
	Resource
	Port
	Limit
	Topology
	Held
)

// Miss says which constraint keeps a pod from a place, and by how much. The zero
// value means that nothing does.
type Miss struct {
	Kind Kind
	// Key is the label, taint or resource.
	Key string
	// Want and Have are the two sides that do not meet.
	Want string
	Have string
	// Hint is what was probably meant.
	Hint string
}

// Missed reports whether there is a miss.
func (m Miss) Missed() bool { return m.Kind != None }

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
	case Taint:
		return fmt.Sprintf("has the taint %s, which the pod does not tolerate", m.Key)
	case Restricted:
		return fmt.Sprintf("cannot give nodes the label %s %s: it %s", m.Key, m.Want, m.Have)
	case UnknownLabel:
		text := fmt.Sprintf("does not define the label %q", m.Key)
		if m.Hint != "" {
			text += fmt.Sprintf(": did you mean %s?", m.Hint)
		}
		return text
	case Label:
		return fmt.Sprintf("requires %s %s, the pod requires %s", m.Key, m.Have, m.Want)
	case TypeLabel:
		return fmt.Sprintf("has no instance type with %s %s", m.Key, m.Want)
	case Offering:
		return fmt.Sprintf("has no offering with %s", m.Want)
	case Unavailable:
		return fmt.Sprintf("has no offering available now: %s", m.Want)
	case Resource:
		return fmt.Sprintf("has no instance type with %s %s, the largest has %s", m.Want, m.Key, m.Have)
	case Limit:
		return fmt.Sprintf("has reached its limit of %s %s: %s are in use or planned", m.Want, m.Key, m.Have)
	case Unsupported, NodeGone, Volume, Port, Topology, Held:
		return m.Want
	}
	return m.Want
}
