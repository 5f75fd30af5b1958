package pack

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Where pods' constraints on each other leave some without a place, that may be
// because of the order in which they were placed. Pods that nothing is sold for may have
// lost the only node that they can be on to pods that could have had a machine. Then all
// is placed again, with the classes of those first that had none.

// crowdedOut returns the classes of which pods have no place because of other pods,
// rather than of a limit. Classes are named by the first of their pods.
func (s *solver) crowdedOut() map[int]bool {
	out := map[int]bool{}
	for _, c := range s.Classes() {
		if c.Urgent || c.WantsPlace() && !c.Limited && (s.constrainedByPods(c) || s.nodeHadRoom(c)) {
			out[c.First()] = true
		}
	}
	if len(out) == 0 || !slices.ContainsFunc(s.Classes(), func(c *assign.Class) bool { return out[c.First()] && !c.Urgent }) {
		return nil // another order has been tried for all
	}
	return out
}

// constrainedByPods reports whether it matters to the class where other pods are.
func (s *solver) constrainedByPods(c *assign.Class) bool {
	return len(c.Keys)+len(c.Follows()) > 0 || slices.ContainsFunc(c.PerNode, s.State.AboutPods)
}

// nodeHadRoom reports whether a node had room for a pod of the class before anything was
// placed.
func (s *solver) nodeHadRoom(c *assign.Class) bool {
	for place := range c.Places {
		o, ok := s.OptionsAt(c, assign.Level{Place: place, Relaxed: c.Everything()})
		if !ok {
			continue
		}
		for i := range s.Existing() {
			if s.Matches(o, i) && model.Fits(c.Need, s.Start.Room[i]) {
				return true
			}
		}
	}
	return false
}

// serves reports whether the solution has places for more pods than the other, by
// priority.
func (s *solver) serves(o *solver) bool {
	left := func(s *solver) map[int32]int64 {
		out := map[int32]int64{}
		for _, c := range s.Classes() {
			out[c.Template.Priority] += c.Left
		}
		return out
	}
	mine, others := left(s), left(o)
	for _, c := range s.Classes() { // by priority
		if p := c.Template.Priority; mine[p] != others[p] {
			return mine[p] < others[p]
		}
	}
	return false
}
