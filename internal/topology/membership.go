package topology

import "github.com/packhorse-io/terraform-provider-packhorse/internal/cluster"

// index says which groups a pod may belong to by its labels, so that not every
// class has to be compared with every group.
type index struct {
	size     int             // groups that are in it
	byLabel  map[label][]int // groups of pods that must have a label
	unsorted []int           // other groups
}

type label struct{ key, value string }

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
	}
	return out
}

func (x *index) add(id int, g *Group) {
	if l, ok := g.asksFor(); ok {
		if x.byLabel == nil {
			x.byLabel = map[label][]int{}
		}
		x.byLabel[l] = append(x.byLabel[l], id)
		return
	}
	x.unsorted = append(x.unsorted, id)
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
