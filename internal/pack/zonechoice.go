package pack

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/place"
)

// Pods that are spread over zones, or have to be together in one, get their zones before
// machines are bought. Each class goes where a machine of its own costs least. Several classes
// may cost less together in another zone, because they share machines there. This shows only
// when all is bought, so all pods are placed again with each zone preferred in turn. It matters
// for few pods, because many pods fill machines in each zone. Pods that others follow are the
// exception: see followedInVain. `make tiny` measures it: of 575 plans for at most seven pods,
// 42 cost less, by up to 76 %. Of the 7 plans in 730 others that were still above the best, 3 are now the best,
// because all zones but one are preferred as well; they were 0.3, 6 and 18 % above it.

// mostAgain bounds the work to try zones for a lower price: the number of pods and nodes, times that of zones,
// and times that of classes where zones are tried for each of them. With ten times as much,
// the plans for 22 worlds of 200 to 500 pods cost 0.06 % less, and take twice as long. For Provisioners
// with more offerings than that together, each plan takes as many times as long: all of EC2 has 16,000 in six zones.
const mostAgain, usualOfferings = 600, 20_000

// bestZones returns the best of the plan s and of plans with other zones preferred: first for
// pods that others without a place follow, with one zone for all of them and then one for each,
// then, where there are few pods, with the same zone for all classes that may choose one, then
// with a zone for each class.
func (p *planning) bestZones(s *solver) *solver {
	choosing := s.choosingZones()
	if len(s.Machines()) == 0 || len(choosing) == 0 || !s.Uses(assign.Zones) {
		return s
	}
	zones := s.zonesForSale()
	if len(zones) < 2 {
		return s
	}
	work := (len(s.Problem.Pods) + len(s.Existing())) * len(zones) * (1 + len(s.Offerings)/usualOfferings)
	preferences := zonePreferences(zones, 2*work <= mostAgain)
	try := func(classes []int, enough func() bool) {
		for _, preference := range preferences {
			if enough() {
				return
			}
			other := s.made
			other.zones = map[int]place.ZonePreference{}
			maps.Copy(other.zones, s.made.zones)
			for _, c := range classes {
				other.zones[c] = preference
			}
			s = p.better(s, other)
		}
	}
	followed := s.followedInVain()
	if len(followed) > 0 {
		try(followed, func() bool { return len(s.followedInVain()) == 0 })
	}
	if left := s.followedInVain(); len(left) < len(followed) { // the others' followers may need different zones
		for _, c := range left[:min(len(left), maxReorders)] {
			try([]int{c}, func() bool { return !slices.Contains(s.followedInVain(), c) })
		}
	}
	never := func() bool { return false }
	if work <= mostAgain {
		try(choosing, never)
	}
	if len(choosing) > 1 && work*len(choosing) <= mostAgain {
		for _, c := range choosing {
			try([]int{c}, never)
		}
	}
	return s
}

// zonePreferences lists each zone, and all but each, if that is asked for and there are more than two: the second of
// two pods that are spread over three zones may be better off in either of the other two.
func zonePreferences(zones []string, others bool) (out []place.ZonePreference) {
	for _, zone := range zones {
		out = append(out, place.ZonePreference{Zone: zone})
	}
	if others && len(zones) > 2 {
		for _, zone := range zones {
			out = append(out, place.ZonePreference{Zone: zone, Others: true})
		}
	}
	return out
}

// choosingZones lists the classes to which zones matter, by their first pods.
func (s *solver) choosingZones() []int {
	var out []int
	for _, c := range s.Classes() {
		if slices.Contains(c.Keys, api.LabelZone) {
			out = append(out, c.First())
		}
	}
	return out
}

// followedInVain lists the classes to which zones matter and that others follow of which pods
// have no place although machines for them are for sale, by their first pods. Those without a
// place of their own are left out, because another zone changes nothing for them.
func (s *solver) followedInVain() []int {
	groups, affordable := map[int]bool{}, s.affordable()
	for _, c := range s.Classes() {
		if !c.WantsPlace() || !s.forSale(c, affordable) {
			continue
		}
		for _, a := range c.Affinities() {
			if a.Required() && !slices.Contains(c.Members, a.Group()) {
				groups[a.Group()] = true
			}
		}
	}
	var out []int
	for _, c := range s.Classes() {
		placed := c.Left < int64(len(c.Class.Pods))
		if placed && slices.Contains(c.Keys, api.LabelZone) && slices.ContainsFunc(c.Members, func(g int) bool { return groups[g] }) {
			out = append(out, c.First())
		}
	}
	return out
}

// zonesForSale lists the zones of all offerings.
func (s *solver) zonesForSale() []string {
	zones := map[string]bool{}
	for k := range s.Offerings {
		zones[s.Offerings[k].Offer.Zone] = true
	}
	return slices.Sorted(maps.Keys(zones))
}

// cheaper reports whether a plan serves the same pods as another one, costs less, and gives up
// no more preferences.
func (s *solver) cheaper(than *solver) bool {
	same := slices.EqualFunc(s.Classes(), than.Classes(), func(a, b *assign.Class) bool { return a.First() == b.First() && a.Left == b.Left })
	return same && s.givenUp() <= than.givenUp() && s.cost() < than.cost()
}

// cost is that of all machines, with what it costs to have nodes.
func (s *solver) cost() int64 {
	sum := int64(0)
	for _, m := range s.Machines() {
		sum += s.Offerings[m.Offering].Cost
	}
	return sum
}

// givenUp counts the preferences that the pods have given up.
func (s *solver) givenUp() int64 {
	n := int64(0)
	add := func(p *assign.Placement) { n += p.N * int64(bits.OnesCount64(uint64(p.Level.Relaxed))) }
	for _, m := range s.Machines() {
		for i := range m.Placed {
			add(&m.Placed[i])
		}
	}
	for i := range s.OnNodes() {
		add(&s.OnNodes()[i].Placement)
	}
	return n
}
