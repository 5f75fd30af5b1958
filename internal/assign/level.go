package assign

import (
	"math/bits"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Level says how far a class of pods has relaxed what it asks for: which of its
// alternative places it tries, and which preferences it has given up.
type Level struct {
	Place   int
	Relaxed topology.Relaxed
}

// Exhausted reports whether a class has spent what it may, and ends it: it gets no place in
// this packing.
func (mk *Market) Exhausted(c *Class) bool {
	if c.Missing.Kind == match.Exhausted {
		return true
	}
	mk.Effort.Begin(c.Account)
	if !mk.Effort.Over() {
		return false
	}
	want := "planning it takes more work than one pod may take: "
	if mk.Effort.Postponed(c.Account) {
		want = "other pods are planned first, and it comes next: "
	}
	c.Missing = match.Miss{Kind: match.Exhausted, Want: want + bulk(c.Template)}
	return true
}

// FirstLevel is the level with which a class begins in one of its places: without its preferences once these have taken
// too much work, and where it gives them up.
func (c *Class) FirstLevel(place int) Level {
	if c.Account.Lent() {
		return Level{place, c.Everything()}
	}
	return Level{place, c.Given}
}

// GiveUp lets classes, which it gets by their first pods, begin without some of their preferences. The domains that only
// preferences are about no longer matter to those that give up all.
func (a *Assignment) GiveUp(byFirst map[int]topology.Relaxed) {
	for _, c := range a.classes {
		if c.Given = byFirst[c.First()]; c.Given != 0 {
			c.Level = c.FirstLevel(0)
		}
		if c.Given != 0 && c.Given == c.Everything() {
			a.State.NarrowKeys(c.Rules)
		}
	}
}

// Relent lets a class that has spent what it may look for places once more, without its preferences: these must not keep
// pods pending. The domains that only preferences are about no longer matter to it.
func (mk *Market) Relent(c *Class) bool {
	plain := Level{c.Level.Place, c.Everything()}
	if fewer := mk.State.NarrowKeys(c.Rules); c.Level == plain && !fewer || !mk.Effort.Lend(c.Account) {
		return false
	}
	c.Missing, c.Level = match.Miss{}, plain
	return true
}

// OptionsAt returns what a class may use at a level, or false where its requirements
// contradict each other, and where it has spent what it may.
func (mk *Market) OptionsAt(c *Class, l Level) (*model.Options, bool) {
	if mk.Exhausted(c) {
		return nil, false
	}
	mk.Effort.Start()
	mk.Effort.Spend(len(c.Preferences) * (1 + len(c.Places[l.Place])))
	requires, honour := c.RequiresAt(l)
	if _, bad := requires.Unmeetable(); bad {
		return nil, false
	}
	return mk.OptionsFor(requires, c.Template.Tolerations, c.Tolerates, honour), true
}

// maxProbes bounds how often a class asks whether a set of preferences can be met.
// Beyond that it gives up all of them at once.
const maxProbes = 512

// LastLevel is the level at which the class has nothing left to give up.
func (c *Class) LastLevel() Level { return Level{max(0, len(c.Places)-1), c.Everything()} }

// Next returns the level to try after one that has left pods over: the one that gives up
// the least important preferences among those at which a pod can be served, beside those that
// the class gives up at once. Once nothing is left to give up it is that of the next alternative
// place, or false after the last.
func (c *Class) Next(last Level, serves func(Level) bool) (Level, bool) {
	if last.Relaxed == c.Everything() {
		return c.FirstLevel(last.Place + 1), last.Place+1 < len(c.Places)
	}
	set := c.fewestGivenUp(last.Place, c.Given, serves)
	if set <= last.Relaxed {
		// What seemed to serve did not: the least important preference that was kept goes.
		set = c.fewestGivenUp(last.Place, last.Relaxed|(last.Relaxed+1), serves)
	}
	return Level{last.Place, set}, true
}

// fewestGivenUp decides for one preference after the other, the most important first,
// whether it can be kept beside those that are kept already. Those of the set that it
// begins with are not.
func (c *Class) fewestGivenUp(place int, set topology.Relaxed, serves func(Level) bool) topology.Relaxed {
	probe := func(set topology.Relaxed) bool {
		c.Probes++
		return c.Probes <= maxProbes && serves(Level{place, set})
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
