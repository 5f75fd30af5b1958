package pack

import (
	"cmp"
	"slices"
)

// Where pods' constraints on each other leave some without a place, that may be
// because of the order in which they were placed. Then all is placed anew, with the
// classes of those first that had none.

// crowdedOut returns the classes of which pods have no place because of other pods,
// rather than of a limit. They are told by the first of their pods.
func (s *solver) crowdedOut() map[int]bool {
	out := map[int]bool{}
	for _, c := range s.classes {
		if c.urgent || c.left > 0 && !c.never.Missed() && !c.limited && (len(c.Keys)+len(c.Follows()) > 0 || slices.ContainsFunc(c.PerNode, s.state.AboutPods)) {
			out[slices.Min(c.pods)] = true
		}
	}
	if len(out) == 0 || !slices.ContainsFunc(s.classes, func(c *class) bool { return out[slices.Min(c.pods)] && !c.urgent }) {
		return nil // another order has been tried for all
	}
	return out
}

// hurry brings the urgent classes before others of their priority.
func (s *solver) hurry(urgent map[int]bool) {
	if len(urgent) == 0 {
		return
	}
	for _, c := range s.classes {
		c.urgent = urgent[slices.Min(c.pods)]
	}
	slices.SortStableFunc(s.classes, func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.Template.Priority, a.Template.Priority), cmpBool(b.urgent, a.urgent))
	})
}

// serves reports whether the solution has places for more pods than the other, by
// priority.
func (s *solver) serves(o *solver) bool {
	left := func(s *solver) map[int32]int64 {
		out := map[int32]int64{}
		for _, c := range s.classes {
			out[c.Template.Priority] += c.left
		}
		return out
	}
	mine, others := left(s), left(o)
	for _, c := range s.classes { // by priority
		if p := c.Template.Priority; mine[p] != others[p] {
			return mine[p] < others[p]
		}
	}
	return false
}
