package topology

import (
	"fmt"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/offer"
)

// KeepDaemonsOff finds the offerings on which the pods of DaemonSets are not going to run
// because pods that run already keep them out of the domains of these. It is called before
// anything is placed.
func (s *State) KeepDaemonsOff() {
	off, some := make([]model.Bitset, len(s.Daemons)), false
	for i, d := range s.Daemons {
		off[i] = model.NewBitset(len(s.supply.Offerings))
		if !d.CountedByDomain() {
			continue
		}
		for k := range s.supply.DaemonSets[i].On.All {
			residual := s.supply.Pools[s.supply.Offerings[k].Pool].Residual
			if s.kept(d, func(key string) (string, bool) { value, ok := s.supply.LabelsOf(k, residual)[key]; return value, ok }) {
				off[i].Add(k)
				some = true
			}
		}
	}
	if s.keptOff, s.crews = nil, nil; some {
		s.keptOff = off
	}
}

// crew is a set of DaemonSets that some offerings have in common, of which there are few.
type crew struct {
	counts NodeCounts // what they mean to others on a node
	on     model.Bitset
}

// crewsOf returns the crews of all offerings, found once.
func crewsOf(s *State) []crew {
	if s.crews != nil {
		return s.crews
	}
	known, last, before := map[string]int{}, -1, []int(nil)
	for k := range s.supply.Offerings {
		if of := s.DaemonsOn(k); last < 0 || !slices.Equal(of, before) {
			key := fmt.Sprint(of)
			i, ok := known[key]
			if !ok {
				i = len(s.crews)
				known[key] = i
				s.crews = append(s.crews, crew{s.DaemonCounts(k), model.NewBitset(len(s.supply.Offerings))})
			}
			before, last = of, i
		}
		s.crews[last].on.Add(k)
	}
	return s.crews
}

// KeepBesideDaemons leaves out of a set the offerings on whose nodes pods of DaemonSets leave no
// room for a pod with such constraints by node.
func (s *State) KeepBesideDaemons(of model.Bitset, perNode []PerNode) {
	for _, c := range crewsOf(s) {
		s.supply.Effort.Spend(1 + len(perNode))
		if c.counts.Room(perNode, 1) <= 0 {
			of.Remove(c.on)
		}
	}
}

// DaemonsOn lists the DaemonSets that will have a pod on a node of the offering, as places in
// Daemons.
func (s *State) DaemonsOn(offering int) []int {
	all := s.supply.Offerings[offering].DaemonSets
	if s.keptOff == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return s.keptOff[i].Has(offering) })
}

// runsOn returns the offerings on whose nodes a DaemonSet will have a pod.
func (s *State) runsOn(daemon int) model.Bitset {
	on := s.supply.DaemonSets[daemon].On.Clone()
	if s.keptOff != nil {
		on.Remove(s.keptOff[daemon])
	}
	return on
}

// DaemonCounts returns what the DaemonSets of an offering mean to others on a node.
func (s *State) DaemonCounts(offering int) NodeCounts {
	var h NodeCounts
	for _, i := range s.DaemonsOn(offering) {
		h = h.Plus(s.Daemons[i].PerNode, 1)
	}
	return h
}

// RespectDaemons leaves out of a set the offerings on which DaemonSets put pods that the
// class must not meet, and those on which they put none that it has to be with, where
// others have one. It returns the groups of which each offering that is left then has a pod.
func (s *State) RespectDaemons(of model.Bitset, r *Rules) (lent []int) {
	for _, c := range r.follows {
		on, _ := s.runningOn(func(i int) bool { return belongs(s.Daemons[i].PerNode, c.group) })
		of.Keep(on)
	}
	s.KeepFromDaemons(of, r)
	for _, c := range r.Affinities() {
		in := func(i int) bool {
			return slices.Contains(s.Daemons[i].Members, c.group) && s.runsOn(i).Meets(of)
		}
		if on, some := s.runningOn(in); c.Required() && some {
			of.Keep(on)
			lent = append(lent, c.group)
		}
	}
	return lent
}

// KeepFromDaemons leaves out of a set the offerings on which DaemonSets put pods that the class must
// not meet. A machine without the label of a constraint is in no domain of it.
func (s *State) KeepFromDaemons(of model.Bitset, r *Rules) {
	for i, d := range s.Daemons {
		for _, id := range s.repelling(r, d) {
			for k := range s.runsOn(i).All {
				if s.isLabelled(k, s.List[id].Key) {
					of.Drop(k)
				}
			}
		}
	}
}

// runningOn returns the offerings that one of the DaemonSets runs on, and whether there is
// such a DaemonSet.
func (s *State) runningOn(which func(int) bool) (on model.Bitset, some bool) {
	on = model.NewBitset(len(s.supply.Offerings))
	for i := range s.Daemons {
		if which(i) {
			some = true
			on.Join(s.runsOn(i))
		}
	}
	return on, some
}

// isLabelled reports whether machines of an offering have a label before any pod is on them.
func (s *State) isLabelled(offering int, key string) bool {
	if offer.DecidesLabel(key) {
		_, has := s.supply.Offerings[offering].Offer.Label(key)
		return has
	}
	_, has := s.supply.LabelsOf(offering, s.supply.Pools[s.supply.Offerings[offering].Pool].Residual)[key]
	return has
}

// repelling lists the groups, other than by host name, because of which a pod of the class and one of the DaemonSet must
// not be in one domain.
func (s *State) repelling(r *Rules, d *Resident) []int {
	out := slices.DeleteFunc(slices.Clone(d.Repels), func(id int) bool { return !slices.Contains(r.Members, id) })
	for _, c := range r.AntiAffinities() {
		if c.Required() && slices.Contains(d.Members, c.group) {
			out = append(out, c.group)
		}
	}
	return out
}

// CountsDaemons reports whether pods of DaemonSets belong to the group.
func (s *State) CountsDaemons(group int) bool {
	return s.daemonsIn(group) || slices.ContainsFunc(s.Daemons, func(d *Resident) bool { return slices.Contains(d.Members, group) })
}
