package topology

import "slices"

// In returns how many pods of the group there are in a domain.
func (t Tally) In(domain string) int64 { return t.count[domain] }

// OfVolumes reports whether volumes are counted rather than pods.
func (g *Group) OfVolumes() bool { return g.volumes }

// Keeps returns the spread of the class that counts a group to which its pods belong, if
// it has one that is not given up.
func (r *Rules) Keeps(group int, relaxed Relaxed) (*Spread, bool) {
	for _, c := range r.Spreads() {
		if c.group == group && c.self && !r.gaveUp(c, relaxed) {
			return c, true
		}
	}
	return nil, false
}

// CountsDaemons reports whether pods of DaemonSets belong to the group.
func (s *State) CountsDaemons(group int) bool {
	return s.daemonsIn(group) || slices.ContainsFunc(s.Daemons, func(d *Resident) bool { return slices.Contains(d.Members, group) })
}
