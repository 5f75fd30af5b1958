package pack

import (
	"math/bits"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// exhausted ends a class that has spent what it may: it gets no place in this packing.
func (s *Assignment) exhausted(c *class) bool {
	if c.never.Kind == match.Exhausted {
		return true
	}
	s.Effort.Begin(c.Account)
	if !s.Effort.Over() {
		return false
	}
	c.never = match.Miss{Kind: match.Exhausted, Want: "planning it takes more work than one pod may take: " + topology.Bulk(c.Template)}
	return true
}

// optionsAt returns what a class may use at a level, or false where its requirements
// contradict each other, and where it has spent what it may.
func (s *Assignment) optionsAt(c *class, l level) (*model.Options, bool) {
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

// level says how far a class of pods has relaxed what it asks for: which of its
// alternative places it tries, and which preferences it has given up.
type level struct {
	place   int
	relaxed topology.Relaxed
}

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
