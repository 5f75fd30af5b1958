// Package place finds places on nodes that exist, by topology domains where these matter, and
// says in which groups the other pods are to be bought for.
package place

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// ZonePreference is a zone that pods prefer, or all others.
type ZonePreference struct {
	Zone   string
	Others bool
}

// Placer finds places on nodes that exist, and says what is to be bought for the other pods.
type Placer struct {
	*assign.Assignment
	// Zones are the zones that classes prefer, by the first of their pods. Constraints, room on
	// nodes and the weights of Provisioners come first. Pods of other classes go where a machine
	// is cheapest.
	Zones map[int]ZonePreference
	// Gather are classes whose pods go to as few combinations of domains as their spreads admit,
	// by the first of their pods. Others even out their spreads.
	Gather map[int]bool
	// Uneven nodes are filled by the order of pods only. Limits may leave fewer pods over then: in 130 worlds (50 from
	// seed 1, 80 from 1795850727), 21 more pods have a place because both ways are tried.
	Uneven bool
	joint  int // joint options made so far
}

// place finds places for the pods of a class at a level: on nodes that exist,
// or else in pod groups to be bought.
func (pl *Placer) place(c *assign.Class, level assign.Level) []*assign.PodGroup {
	if len(c.Keys) > 0 {
		return pl.placeByDomain(c, level)
	}
	o, ok := pl.OptionsAt(c, level)
	if !ok {
		return nil
	}
	pl.fill(c, o, level)
	pl.fillElsewhere(c, level)
	if c.Open() == 0 {
		return nil
	}
	g, ok := pl.GroupFor(c, level, o)
	if !ok {
		return nil
	}
	g.N = c.Open()
	c.Booked += g.N
	return []*assign.PodGroup{g}
}

// fillElsewhere puts pods of the class onto nodes that only its next alternatives allow: a node
// that exists costs nothing, and the machine would be bought for the first alternative.
func (pl *Placer) fillElsewhere(c *assign.Class, level assign.Level) {
	for level.Place++; level.Place < len(c.Places) && c.Open() > 0; level.Place++ {
		if o, ok := pl.OptionsAt(c, level); ok {
			pl.fill(c, o, level)
		}
	}
}

// fill puts as many pods of the class as possible onto nodes that exist.
func (pl *Placer) fill(c *assign.Class, o *model.Options, level assign.Level) {
	for i := range pl.Existing() {
		if c.Open() == 0 {
			return
		}
		if k := pl.RoomOn(c, o, i, c.Open()); k > 0 {
			pl.Put(c, i, level, k)
		}
	}
}

// PlaceAll places the classes on nodes and returns the pod groups to be bought. A
// class whose affinity waits for another class is tried again after it.
func (pl *Placer) PlaceAll(open []*assign.Class) []*assign.PodGroup {
	pl.fillEvenly(open)
	var groups []*assign.PodGroup
	waiting := pl.plainLast(open)
	for len(waiting) > 0 {
		var again []*assign.Class
		progress := false
		for _, c := range waiting {
			before := c.Open()
			groups = append(groups, pl.place(c, c.Level)...)
			progress = progress || c.Open() < before
			if c.Open() > 0 && len(c.Affinities()) > 0 {
				again = append(again, c)
			}
		}
		if !progress {
			break
		}
		waiting = again
	}
	return groups
}

// mayGoOn counts what follows for the class, and reports whether that has effort left.
func (pl *Placer) mayGoOn(c *assign.Class) bool {
	pl.Effort.Begin(c.Account)
	return !pl.Effort.Over()
}
