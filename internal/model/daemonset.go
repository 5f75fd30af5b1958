package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
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

// Lacks returns which share of a request of its pods a machine lacks, of the request that it lacks most of; 0 where
// a pod fits on it alone. All requests count of what some machine has, so that what other pods ask for does not matter.
func (d *DaemonSet) Lacks(all, some amount.List) float64 {
	most := 0.0
	for name, v := range d.Template.Requests {
		if has := all[name]; some[name] > 0 && v > has { // see NeedOf
			most = max(most, float64(v-has)/float64(v))
		}
	}
	return most
}

// LeftOut is a DaemonSet that takes nothing of the machines of a pool on which it may run, because its pod fits on
// none of them.
type LeftOut struct {
	DaemonSet *cluster.DaemonSet
	Pool      *Pool
	nearest   *offer.InstanceType
	some      amount.List // the most that one of these machines has
}

// Reason says what the pod needs, and what the machine has that lacks the least.
func (l *LeftOut) Reason() string {
	var needs, has []string
	all := l.nearest.Allocatable()
	for _, name := range l.DaemonSet.Template.Requests.Names() {
		if name != amount.Pods && l.some[name] > 0 {
			needs, has = append(needs, amount.Phrase(name, l.DaemonSet.Template.Requests[name])), append(has, amount.Phrase(name, all[name]))
		}
	}
	return fmt.Sprintf("its pod needs %s, and the nearest instance type, %s, has %s", strings.Join(needs, " and "), l.nearest.Name, strings.Join(has, " and "))
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
			if !d.On.AnyIn(p.Offerings) {
				continue
			}
			if l := s.leftOut(p, d); l != nil {
				s.LeftOut = append(s.LeftOut, *l)
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

// leftOut returns nil where a machine of the pool could hold the DaemonSet's pod, if nothing else ran
// there. A device counts on all machines if one of those on which the pod may run has it. All that the
// pool may sell counts, also what is unavailable now or no pod asks for, so that neither changes what
// other pods find.
func (s *Supply) leftOut(p *Pool, d *DaemonSet) *LeftOut {
	var may []*offer.InstanceType
	some := amount.List{}
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
			all := p.Types[at.Type].Allocatable()
			if d.Lacks(all, d.Template.Requests) == 0 {
				return nil
			}
			for name := range d.Template.Requests {
				some[name] = max(some[name], all[name])
			}
			may = append(may, &p.Types[at.Type])
			types[at.Type] = false // in no other place either
		}
	}
	out, least := &LeftOut{DaemonSet: d.DaemonSet, Pool: p, some: some}, 0.0
	for _, t := range may {
		lacks := d.Lacks(t.Allocatable(), some)
		if lacks == 0 {
			return nil
		}
		if out.nearest == nil || lacks < least {
			out.nearest, least = t, lacks
		}
	}
	return out
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
