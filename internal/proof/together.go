package proof

import (
	"maps"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/api"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/topology"
)

// Pods with a required affinity to their like over zones are all in one zone, or in those
// that have such pods already. Their classes may use no other zone, and where the zone is
// free to choose, no plan is cheaper than the cheapest of all choices.

// zoneSet is a set of zones.
type zoneSet map[string]bool

// zoneOf is a zone for all pods of a group.
type zoneOf struct {
	group int
	zone  string
}

// addZones finds the zones that classes must be in.
func (b *problem) addZones(only *zoneOf) {
	for id := range b.s.State.List {
		classes := b.together(id)
		if len(classes) == 0 {
			continue
		}
		zones, taken := zoneSet{}, b.s.Start.Tallies[id]
		switch {
		case only != nil && only.group == id:
			zones[only.zone] = true
		case taken.Total == 0:
			continue
		default:
			for zone := range b.zonesOf(classes) {
				zones[zone] = taken.In(zone) > 0
			}
		}
		if planned := map[string]int64{}; only == nil {
			b.countPlanned(id, planned)
			for zone, n := range planned {
				zones[zone] = zones[zone] || n > 0
			}
		}
		for _, i := range classes {
			b.zones[i] = zones
		}
	}
}

// together returns the classes of the pods of a group, if all of them must be in a zone
// that has others of it. Pods with several node selector terms are left out.
func (b *problem) together(group int) []int {
	a := b.s
	if g := a.State.List[group]; g.Key != api.LabelZone || g.Spread() || a.State.CountsDaemons(group) {
		return nil
	}
	var out []int
	for i, p := range b.placed {
		if !slices.Contains(p.class.Members, group) {
			continue
		}
		if len(p.others) > 0 || !slices.ContainsFunc(p.class.Affinities(), func(c *topology.Affinity) bool { return c.Required() && c.Group() == group }) {
			return nil
		}
		out = append(out, i)
	}
	return out
}

// choosesZone reports whether domains matter to the class only because all of its pods must be
// in one zone, whichever it is. Then they are where the Provisioner of the highest weight sells.
func (b *problem) choosesZone(p *placedClass) bool {
	c := p.class
	if len(c.Keys) != 1 || len(c.Affinities()) != 1 || len(c.Spreads())+len(c.AntiAffinities()) > 0 {
		return false
	}
	group := c.Affinities()[0].Group()
	return slices.Equal(c.Members, []int{group}) && len(b.together(group)) == 1 && b.s.Start.Tallies[group].Total == 0
}

// zonesOf returns the zones that have nodes or offerings for the classes.
func (b *problem) zonesOf(classes []int) zoneSet {
	out := zoneSet{}
	for _, i := range classes {
		p := &b.placed[i]
		for k := range p.mask.All {
			out[b.s.Offerings[k].Offer.Zone] = true
		}
		for n := range b.s.Existing() {
			if b.s.Matches(p.opt, n) {
				out[b.s.Existing()[n].Labels[api.LabelZone]] = true
			}
		}
	}
	return out
}

// alternatives lists the zones that one group may be in of which all pods must be in one,
// that of the group which needs most.
func (b *problem) alternatives() []*zoneOf {
	group, most := -1, 0.0
	for id := range b.s.State.List {
		needed := 0.0
		for _, i := range b.together(id) {
			needed += float64(b.placed[i].class.Size * float64(b.placed[i].n))
		}
		if needed > most && b.s.Start.Tallies[id].Total == 0 {
			group, most = id, needed
		}
	}
	if group < 0 {
		return nil
	}
	var out []*zoneOf
	for _, zone := range slices.Sorted(maps.Keys(b.zonesOf(b.together(group)))) {
		out = append(out, &zoneOf{group, zone})
	}
	return out
}
