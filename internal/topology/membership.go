package topology

import "github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"

// index says which groups a pod may belong to by its labels, so that not every
// class has to be compared with every group.
type index struct {
	size     int              // groups that are in it
	byLabel  map[label][]int  // groups of pods that must have a label
	byKey    map[string][]int // other groups of pods that must have a label of a key
	unsorted []int            // other groups
}

type label struct{ key, value string }

// census counts templates by their labels, and by the keys of these.
type census struct {
	byLabel map[label]int
	byKey   map[string]int
}

// Expect announces that it will be asked which groups the pods of a template belong to.
func (gs *Groups) Expect(t *cluster.Template) { gs.expected = append(gs.expected, t) }

const (
	// stepsToCompare is the effort of comparing a template with a group.
	stepsToCompare = 5
	// stepsForNothing is the effort of comparing all templates with all groups that nobody is
	// charged for: to count exactly takes time, too.
	stepsForNothing = 10_000_000
)

// StepsToCompare is the effort of comparing templates with all groups but the first ones.
func (gs *Groups) StepsToCompare(first int) int {
	if stepsToCompare*len(gs.expected)*len(gs.List) < stepsForNothing {
		return 0
	}
	return stepsToCompare * gs.comparisons(first)
}

// comparisons counts the templates that are compared with all groups but the first ones.
func (gs *Groups) comparisons(first int) int {
	if gs.census == nil {
		gs.count()
	}
	n := 0
	for _, g := range gs.List[first:] {
		if l, ok := g.asksFor(); ok {
			n += gs.census.byLabel[l]
		} else if key, ok := g.asksForKey(); ok {
			n += gs.census.byKey[key]
		} else if !g.volumes {
			n += len(gs.expected)
		}
	}
	return n
}

func (gs *Groups) count() {
	gs.census = &census{byLabel: map[label]int{}, byKey: map[string]int{}}
	for _, t := range gs.expected {
		for key, value := range t.Labels {
			gs.census.byLabel[label{key, value}]++
			gs.census.byKey[key]++
		}
	}
}

// Forget removes all groups but the first ones, before anything is compared with them.
func (gs *Groups) Forget(first int) {
	for identity, id := range gs.byKey {
		if id >= first {
			delete(gs.byKey, identity)
		}
	}
	gs.List = gs.List[:first]
}

// membership returns, by group, whether the pods of a template belong to it.
func (gs *Groups) membership(t *cluster.Template) []bool {
	for ; gs.index.size < len(gs.List); gs.index.size++ {
		gs.index.add(gs.index.size, gs.List[gs.index.size])
	}
	out := make([]bool, len(gs.List))
	look := func(ids []int) {
		for _, id := range ids {
			out[id] = gs.List[id].Matches(t)
		}
	}
	look(gs.index.unsorted)
	for key, value := range t.Labels {
		look(gs.index.byLabel[label{key, value}])
		look(gs.index.byKey[key])
	}
	return out
}

func (x *index) add(id int, g *Group) {
	if l, ok := g.asksFor(); ok {
		x.byLabel[l] = append(x.byLabel[l], id)
	} else if key, ok := g.asksForKey(); ok {
		x.byKey[key] = append(x.byKey[key], id)
	} else if !g.volumes {
		x.unsorted = append(x.unsorted, id)
	}
}

// asksFor returns a label that every pod of the group has, if there is one.
func (g *Group) asksFor() (label, bool) {
	for _, pods := range g.selections {
		if key, value, ok := pods.Label(); ok {
			return label{key, value}, true
		}
	}
	return label{}, false
}

// asksForKey returns the key of a label that every pod of the group has, if there is one.
func (g *Group) asksForKey() (string, bool) {
	for _, pods := range g.selections {
		if key, ok := pods.Key(); ok {
			return key, true
		}
	}
	return "", false
}
