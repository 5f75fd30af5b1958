package model

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
)

// DaemonSet is a DaemonSet as overhead of the nodes that it runs on.
type DaemonSet struct {
	*cluster.DaemonSet
	Need   []int64 // of its pods
	places []match.Requirements
	On     Bitset // offerings
}

// NeedOf returns what its pods need of all that a machine has. A device that the machine does not have
// does not count: nodes may have it once they run, and whether it is counted at all depends on what
// other pods ask for.
func (d *DaemonSet) NeedOf(all []int64) []int64 {
	need := slices.Clone(d.Need)
	for i := range need {
		if all[i] == 0 {
			need[i] = 0
		}
	}
	return need
}

// Fits reports whether its pod fits on a machine alone. All requests count, so that what other pods ask
// for does not matter, but those of devices that the machine does not have, see NeedOf.
func (d *DaemonSet) Fits(all amount.List) bool {
	for name, v := range d.Template.Requests {
		if has := all[name]; has > 0 && v > has {
			return false
		}
	}
	return true
}

// addDaemons lists the DaemonSets that run anywhere.
func (s *Supply) addDaemons(all []cluster.DaemonSet) {
	for i := range all {
		if places, miss := match.Places(all[i].Template, []match.Requirements{nil}); !miss.Missed() {
			s.DaemonSets = append(s.DaemonSets, DaemonSet{DaemonSet: &all[i], Need: s.Space.Vector(all[i].Template.Requests), places: places})
		}
	}
}

// chargeDaemons takes the DaemonSets' needs off the offerings on which they will
// run. Where no offering of a Provisioner could hold even their pod alone, they take
// nothing: it stays pending whatever is bought.
func (s *Supply) chargeDaemons() {
	for i := range s.DaemonSets {
		d := &s.DaemonSets[i]
		d.On = NewBitset(len(s.Offerings))
		for _, place := range d.places {
			d.On.Join(s.OptionsFor(place, d.Template.Tolerations, TolerationKey(d.Template.Tolerations), false).Offerings)
		}
		for _, p := range s.Selling {
			if d.On.AnyIn(p.Offerings) && !s.holds(p, d) {
				for k := p.Offerings[0]; k < p.Offerings[1]; k++ {
					d.On.Drop(k)
				}
			}
		}
	}
	if len(s.DaemonSets) == 0 {
		return
	}
	bare := s.Shapes
	s.Shapes = nil
	with := make([][]*Shape, len(bare)) // by shape: those with DaemonSets
	var runs []int                      // scratch
	for k := range s.Offerings {
		c := &s.Offerings[k]
		runs = runs[:0]
		for i := range s.DaemonSets {
			if s.DaemonSets[i].On.Has(k) {
				runs = append(runs, i)
			}
		}
		known := with[c.Number]
		i := slices.IndexFunc(known, func(of *Shape) bool { return slices.Equal(of.DaemonSets, runs) })
		if i < 0 {
			i = len(known)
			with[c.Number] = append(known, s.addShape(c.Shape, slices.Clone(runs)))
		}
		c.Shape = with[c.Number][i]
	}
}

// holds reports whether a machine of the pool could hold the DaemonSet's pod, if nothing else ran
// there. All that the pool may sell counts, also what is unavailable now or no pod asks for, so that
// neither changes what other pods find.
func (s *Supply) holds(p *Pool, d *DaemonSet) bool {
	for _, place := range d.places {
		combined, miss := s.combined(demand{place, d.Template.Tolerations}, false, p)
		if miss.Missed() {
			continue
		}
		s.Effort.Spend(len(combined) * len(p.Types) / 8)
		types, places := typesAllowed(combined, p.Catalogue), placesAllowed(combined, p.Catalogue)
		for _, at := range p.Catalogue.Ranked {
			if !types[at.Type] || !places[at.Place] {
				continue
			}
			if d.Fits(p.Types[at.Type].Allocatable()) {
				return true
			}
			types[at.Type] = false // in no other place either
		}
	}
	return false
}

// addShape adds a shape with DaemonSets.
func (s *Supply) addShape(bare *Shape, daemons []int) *Shape {
	out := *bare
	out.Number, out.DaemonSets = len(s.Shapes), daemons
	s.Shapes = append(s.Shapes, &out)
	if len(daemons) > 0 {
		out.Room = slices.Clone(bare.Room)
		for _, i := range daemons {
			AddTimes(out.Room, s.DaemonSets[i].NeedOf(bare.Room), -1)
		}
		if slices.Min(out.Room) < 0 {
			out.Room[s.Space.index[amount.Pods]] = 0 // not even its DaemonSets fit
		}
	}
	return &out
}
