package pack

import (
	"math/bits"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// level says how far a class of pods has relaxed what it asks for: which of its
// alternative places it tries, and which preferences it has given up.
type level struct {
	place   int
	relaxed topology.Relaxed
}

// maxProbes bounds how often a class asks whether a set of preferences can be met.
// Beyond that it gives up all of them at once.
const maxProbes = 512

// lastLevel is the level at which the class has nothing left to give up.
func (c *class) lastLevel() level { return level{max(0, len(c.Places)-1), c.Everything()} }

// next returns the level to try after one that has left pods over: the one that gives up
// the least important preferences among those at which a pod can be served. Once nothing
// is left to give up it is that of the next alternative place, or false after the last.
func (c *class) next(last level, serves func(level) bool) (level, bool) {
	if last.relaxed == c.Everything() {
		return level{place: last.place + 1}, last.place+1 < len(c.Places)
	}
	set := c.fewestGivenUp(last.place, 0, serves)
	if set <= last.relaxed {
		// What seemed to serve did not: the least important preference that was kept goes.
		set = c.fewestGivenUp(last.place, last.relaxed|(last.relaxed+1), serves)
	}
	return level{last.place, set}, true
}

// fewestGivenUp decides for one preference after the other, the most important first,
// whether it can be kept beside those that are kept already. Those of the set that it
// begins with are not.
func (c *class) fewestGivenUp(place int, set topology.Relaxed, serves func(level) bool) topology.Relaxed {
	probe := func(set topology.Relaxed) bool {
		c.probes++
		return c.probes <= maxProbes && serves(level{place, set})
	}
	out := c.Everything()
	if !probe(out) {
		return out
	}
	for rest := out &^ set; rest != 0; {
		bit := topology.Relaxed(1) << (bits.Len64(uint64(rest)) - 1)
		rest &^= bit
		if probe(out &^ bit) {
			out &^= bit
		}
	}
	return out
}

// servesAt reports whether a pod of the class can be placed at the level now, as far as
// that can be told without placing it.
func (s *solver) servesAt(c *class, l level) bool {
	o, ok := s.optionsAt(c, l)
	switch {
	case !ok:
		return false
	case len(c.Follows()) > 0:
		return s.mayHold(c, o) // those that it follows are placed together with it
	case len(c.Keys) > 0:
		return s.bestSpot(c, s.servingSpots(c, o, l), l.relaxed) >= 0
	}
	for i := range s.nodes {
		if s.roomOn(c, o, i, 1) > 0 {
			return true
		}
	}
	of, ok := s.lotFor(c, l, o)
	if !ok {
		return false
	}
	_, ok = s.bargainOf(of.mask, s.budgets())
	return ok || s.hasRoom(of)
}

// mayHold reports whether any node or column that the options allow has room for a pod.
func (s *solver) mayHold(c *class, o *model.Options) bool {
	for i := range s.nodes {
		if s.roomAlone(c, o, i, 1) > 0 {
			return true
		}
	}
	return !s.fitting(c.Need, c.PerNode, c.devices, o).Empty()
}

// servingSpots lists the spots of the class that have a node with room or something to buy.
func (s *solver) servingSpots(c *class, o *model.Options, l level) []spot {
	var out []spot
	for _, at := range s.spotsFor(c, o, l) {
		if _, ok := s.nodeIn(c, o, &at); ok || at.lot != nil {
			out = append(out, at)
		}
	}
	return out
}

// optionsAt returns what a class may use at a level, or false where its requirements
// contradict each other, and where it has spent what it may.
func (s *solver) optionsAt(c *class, l level) (*model.Options, bool) {
	if s.exhausted(c) {
		return nil, false
	}
	s.Effort.Spend(len(c.Preferences) * (1 + len(c.Places[l.place])))
	requires, honour := c.requires(l)
	if _, bad := requires.Unmeetable(); bad {
		return nil, false
	}
	return s.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour), true
}
