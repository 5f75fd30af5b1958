package topology

import (
	"cmp"
	"slices"
)

// Preference is a constraint that can be given up.
type Preference struct {
	Text   string
	Weight int32

	id     int // in the order in which the pod's spec lists them
	rank   int
	prefer int  // index in Class.Prefers, -1 if it is no node affinity
	taints bool // it is about PreferNoSchedule taints
}

// Preferences are given up by rank, and within one by weight.
const (
	rankWeighted = iota
	rankSpread
	rankTaints
	rankReunion
)

// Relaxed is a set of a class's preferences that are given up. Bit i stands for the i-th
// preference, counted from the least important one.
type Relaxed uint64

// MaxPreferences is how many preferences are distinguished. Of a pod with more, the least
// important ones share a bit, so that they are given up together.
const MaxPreferences = 64

// addPreference adds a preference and returns its id.
func (r *Rules) addPreference(p Preference) int {
	p.id = len(r.Preferences)
	r.Preferences = append(r.Preferences, p)
	return p.id
}

// sortPreferences orders the preferences by importance.
func (r *Rules) sortPreferences() {
	if len(r.Preferences) == 0 {
		return
	}
	slices.SortStableFunc(r.Preferences, func(a, b Preference) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Weight, b.Weight))
	})
	r.position = make([]int, len(r.Preferences))
	for i, p := range r.Preferences {
		r.position[p.id] = i
	}
}

// bit is the bit of the i-th preference.
func (r *Rules) bit(i int) Relaxed {
	return 1 << max(0, i-max(0, len(r.Preferences)-MaxPreferences))
}

// Everything is the set of all preferences of the class.
func (r *Rules) Everything() Relaxed {
	if n := len(r.Preferences); n < MaxPreferences {
		return 1<<n - 1
	}
	return ^Relaxed(0)
}

// gaveUp reports whether a constraint is given up. What is required never is.
func (r *Rules) gaveUp(c Constraint, relaxed Relaxed) bool {
	id := c.preference()
	return id >= 0 && relaxed&r.bit(r.position[id]) != 0
}

// GivenUp lists the preferences of the set.
func (r *Rules) GivenUp(relaxed Relaxed) []string {
	var out []string
	for i, p := range r.Preferences {
		if relaxed&r.bit(i) != 0 {
			out = append(out, p.Text)
		}
	}
	return out
}

// NodePreference is a preference by node. It never makes machines necessary; where it
// is not met that is noted.
type NodePreference struct {
	Text  string
	group int
	self  bool
	cap   int64
	want  bool // the group's pods should be there, rather than not
}

// Group returns the group of pods that it is about.
func (p *NodePreference) Group() int { return p.group }

// Met reports whether it is met on a node with so many pods of the group.
func (p *NodePreference) Met(pods int64) bool {
	self := int64(0)
	if p.self {
		self = 1
	}
	if p.want {
		return pods > self
	}
	return pods <= max(p.cap, self)
}
