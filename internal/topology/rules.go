package topology

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/match"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Rules are all constraints of an equivalence class.
type Rules struct {
	*model.Class
	// PerNode is what they allow and count by node, and PerNodeLate the same where
	// spreads bind only pods that come later, as they do in kube-scheduler: to fill a
	// node, all pods that come onto it are looked at as if none came first.
	PerNode, PerNodeLate []PerNode
	// Members are the groups counted by domain that the class's pods belong to.
	Members []int
	// Keys are the topology keys, other than the host name, that matter to it.
	Keys []string
	// Preferences can be given up, the least important first.
	Preferences []Preference
	// Soft are preferences by node.
	Soft []NodePreference

	list     []Constraint
	byDomain []Constraint // those that admit by domain, spreads first
	byNode   []Constraint // the others
	position []int        // in Preferences, by id
	*byType
	// needsHostName: the pods cannot be on nodes without a host name.
	needsHostName bool
}

// byType has the constraints of some types, in their order.
type byType struct {
	follows        []*NodeAffinity
	affinities     []*Affinity
	antiAffinities []*AntiAffinity
	spreads        []*Spread
	nodeSpreads    []*NodeSpread
}

// none is what most classes have of them, and share.
var none byType

// StepsToRead is the effort of reading the constraints: some of it grows with the square of
// their number, since what a pod counts depends on all of them.
func (r *Rules) StepsToRead() int {
	n := 0
	for _, k := range kinds {
		n += k.Steps(r)
	}
	return n
}

const (
	// stepsToRead is the effort of reading one of a pod's constraints.
	stepsToRead = 200
	// stepsToRelate is the effort of looking at one constraint because of another.
	stepsToRelate = 16
)

// Read finds what the pods of a class demand of others and of domains, and adds the groups
// that this speaks of. Rules begin with their class alone.
func (gs *Groups) Read(r *Rules, preferNoSchedule bool) error {
	var err error
	for _, k := range kinds {
		if err = k.Read(gs, r); err != nil {
			break
		}
	}
	if err == nil && preferNoSchedule {
		r.addPreference(Preference{Text: "PreferNoSchedule taints", rank: rankTaints, prefer: -1, taints: true})
	}
	r.sortPreferences()
	return err
}

func (r *Rules) add(c Constraint) { r.list = append(r.list, c) }

// Resolve finds, once all groups are known, which ones the class belongs to.
func (gs *Groups) Resolve(r *Rules) {
	in := gs.membership(r.Template)
	var keys []string
	for _, c := range r.list {
		c.resolve(in)
		for _, p := range c.perNode() {
			r.PerNode = addPerNode(r.PerNode, p.resolved(in))
		}
		keys = append(keys, c.keys(gs)...)
	}
	for i := range r.Soft {
		r.Soft[i].self = in[r.Soft[i].group]
	}
	r.PerNode, r.Members = gs.join(r.PerNode, in)
	for _, id := range r.Members {
		keys = append(keys, gs.List[id].keys()...)
	}
	r.setKeys(keys)
	r.sort(gs)
}

func (r *Rules) setKeys(keys []string) {
	slices.Sort(keys)
	r.Keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == corev1.LabelHostname })
}

// NarrowKeys leaves out the topology keys that only preferences are about, those of the class and those of
// all others. It reports whether there are any.
func (gs *Groups) NarrowKeys(r *Rules) bool {
	before := len(r.Keys)
	var keys []string
	for _, c := range r.list {
		if c.preference() < 0 {
			keys = append(keys, c.keys(gs)...)
		}
	}
	for _, id := range r.Members {
		if g := gs.List[id]; g.required || !g.spread {
			keys = append(keys, g.keys()...)
		}
	}
	r.setKeys(keys)
	return len(r.Keys) < before
}

// sort tells the constraints by domain from those by node.
func (r *Rules) sort(gs *Groups) {
	if r.byType = &none; len(r.list) == 0 {
		return
	}
	for _, c := range r.list {
		if len(c.keys(gs)) > 0 {
			r.byDomain = append(r.byDomain, c)
		} else {
			r.byNode = append(r.byNode, c)
		}
	}
	slices.SortStableFunc(r.byDomain, func(a, b Constraint) int { return cmp.Compare(b.evens(), -1) - cmp.Compare(a.evens(), -1) })
	r.byType = &byType{all[*NodeAffinity](r), all[*Affinity](r), all[*AntiAffinity](r), all[*Spread](r), all[*NodeSpread](r)}
	r.needsHostName = len(r.follows)+len(r.nodeSpreads) > 0
}

// Groups lists the groups that the class has to do with.
func (r *Rules) Groups() []int {
	out := slices.Clone(r.Members)
	for _, p := range r.PerNode {
		out = append(out, p.Group)
	}
	for _, c := range r.list {
		out = append(out, c.groups()...)
	}
	return out
}

// Belongs reports whether the class's pods belong to a group that is counted by node.
func (r *Rules) Belongs(group int) bool { return belongs(r.PerNode, group) }

// Free reports whether nothing that others do matters to the class, nor it to others.
func (r *Rules) Free() bool { return len(r.Keys)+len(r.PerNode)+len(r.byNode) == 0 }

// Waits reports whether domains or other pods must be right for the class: it is spread
// over domains or has an affinity.
func (r *Rules) Waits() bool {
	return slices.ContainsFunc(r.list, func(c Constraint) bool { return c.preference() < 0 && c.waits() })
}

// OrderMatters reports whether it matters to the class when its pods come.
func (r *Rules) OrderMatters() bool { return len(r.nodeSpreads) > 0 || r.Waits() }

// all lists the constraints of one type.
func all[C Constraint](r *Rules) []C {
	var out []C
	for _, c := range r.list {
		if c, ok := c.(C); ok {
			out = append(out, c)
		}
	}
	return out
}

// Requires returns what one of the class's places requires of the node's labels with what
// is given up, and whether PreferNoSchedule taints keep the class away.
func (r *Rules) Requires(place int, relaxed Relaxed) (match.Requirements, bool) {
	out, honour := r.Places[place], false
	for i, p := range r.Preferences {
		switch {
		case relaxed&r.bit(i) != 0:
		case p.prefer >= 0:
			out = out.And(r.Prefers[p.prefer].Requirements)
		case p.taints:
			honour = true
		}
	}
	return out, honour
}

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
