package topology

import (
	"cmp"
	"math"
	"slices"
)

// NodeCounts counts, for one node or machine, the pods of groups that are
// constrained by node, and the smallest cap that a pod on it puts on each. It is sorted
// by group, like lists of PerNode.
type NodeCounts []nodeCount

type nodeCount struct {
	group int
	count int64
	cap   int64
}

// Get returns how many pods of a group there are, and how many the pods there tolerate.
func (h NodeCounts) Get(group int) (count, limit int64) {
	if i, found := h.find(group); found {
		return h[i].count, h[i].cap
	}
	return 0, NoCap
}

func (h NodeCounts) find(group int) (int, bool) {
	return slices.BinarySearchFunc(h, group, func(c nodeCount, group int) int { return cmp.Compare(c.group, group) })
}

// Room returns how many pods with such constraints may be added, at most limit, so that no
// group has more pods than any pod on the node tolerates, or than those that are added
// tolerate.
func (h NodeCounts) Room(of []PerNode, limit int64) int64 {
	rest, shared := h, false
	for k := range of {
		t := &of[k]
		if len(rest) > 0 && rest[0].group < t.Group { // both are sorted, and often have the same groups
			i, _ := rest.find(t.Group)
			rest = rest[i:]
		}
		there := nodeCount{cap: NoCap}
		if len(rest) > 0 && rest[0].group == t.Group {
			there, rest = rest[0], rest[1:]
		}
		if limit = t.room(there.count, there.cap, limit); limit == 0 {
			return 0
		}
		shared = shared || t.driver > 0
	}
	if shared {
		for driver, n := range h.attaches(of) {
			count, bound := h.Get(driver)
			limit = find(of, driver).room(count+n, bound, limit)
		}
	}
	return limit
}

// room returns how many of limit pods may join count ones that tolerate so many.
func (p *PerNode) room(count, bound, limit int64) int64 {
	switch bound = min(bound, p.Cap, p.Entry); {
	case p.Self > 0:
		return min(limit, max(0, bound-count)/p.Self)
	case count > bound:
		return 0
	}
	return limit
}

// Plus returns the state with n pods added. It takes the receiver's memory: whoever has a
// copy of the slice must have cloned it.
func (h NodeCounts) Plus(of []PerNode, n int64) NodeCounts {
	for _, t := range of {
		h = h.tally(t, n)
	}
	return h
}

func (h NodeCounts) tally(t PerNode, n int64) NodeCounts {
	i, found := h.find(t.Group)
	if !found {
		h = slices.Insert(h, i, nodeCount{group: t.Group, cap: NoCap})
	}
	before := h[i].count
	h[i].count += t.Self * n
	h[i].cap = min(h[i].cap, t.Cap)
	if of, ok := t.sharedBy(); ok {
		h = h.tally(PerNode{Group: of, Self: 1, Cap: NoCap}, min(h[i].count, 1)-min(before, 1))
	}
	return h
}

// NoCap is the cap of a constraint that is not there.
const NoCap = math.MaxInt64 / 4

// PerNode is what a class has to do with a group that is counted by node.
type PerNode struct {
	Group int
	Self  int64 // 1 if the class's pods belong to the group
	Cap   int64 // pods of the group that a pod of the class tolerates on its node
	Entry int64 // pods of the group, including itself, that a node may have when a pod of the class comes
	// driver is 1 + the group of a driver's attachments, where the group is about one
	// volume that several pods share: the first of them on a node attaches it.
	driver int
}

// resolved returns it once it is known which groups the class belongs to.
func (p PerNode) resolved(in []bool) PerNode {
	if in[p.Group] {
		p.Self, p.Cap = 1, max(p.Cap, 1) // a pod tolerates itself
	}
	return p
}

// belongs reports whether pods with such a list belong to the group.
func belongs(list []PerNode, group int) bool {
	i, found := search(list, group)
	return found && list[i].Self > 0
}

// addPerNode adds to a list that has each group once, in order.
func addPerNode(list []PerNode, p PerNode) []PerNode {
	i, found := search(list, p.Group)
	if !found {
		return slices.Insert(list, i, p)
	}
	have := &list[i]
	have.Self, have.Cap, have.Entry = max(have.Self, p.Self), min(have.Cap, p.Cap), min(have.Entry, p.Entry)
	return list
}

// find returns what a list has of a group, which must be there.
func find(list []PerNode, group int) *PerNode {
	i, _ := search(list, group)
	return &list[i]
}

func search(list []PerNode, group int) (at int, found bool) {
	return slices.BinarySearchFunc(list, group, func(p PerNode, group int) int { return cmp.Compare(p.Group, group) })
}

// Together returns what the pods that are counted are as one: an item that comes onto a node
// as a whole.
func (h NodeCounts) Together() []PerNode {
	var out []PerNode
	for _, c := range h {
		out = append(out, PerNode{Group: c.group, Self: c.count, Cap: c.cap, Entry: NoCap})
	}
	return out
}
