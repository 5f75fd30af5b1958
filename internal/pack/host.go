package pack

import (
	"cmp"
	"slices"
)

// hostState counts, for one node or machine, the pods of groups that are
// constrained by node, and the smallest cap that a pod on it puts on each. It is sorted
// by group, like lists of touches.
type hostState []hostCount

type hostCount struct {
	group int
	count int64
	cap   int64
}

func (h hostState) get(group int) (count, limit int64) {
	if i, found := h.find(group); found {
		return h[i].count, h[i].cap
	}
	return 0, unbounded
}

func (h hostState) find(group int) (int, bool) {
	return slices.BinarySearchFunc(h, group, func(c hostCount, group int) int { return cmp.Compare(c.group, group) })
}

// room returns how many pods with the touches may be added, at most limit, so
// that no group has more pods than any pod on the node stands, or than those that
// are added may come to.
func (h hostState) room(touches []touch, limit int64) int64 {
	attached := h.attaches(touches)
	for _, t := range touches {
		count, bound := h.get(t.group)
		count, bound = count+attached[t.group], min(bound, t.cap, t.entry)
		switch {
		case t.self > 0:
			limit = min(limit, max(0, bound-count)/t.self)
		case count > bound:
			return 0
		}
	}
	return limit
}

// plus returns the state with n pods added. The receiver may be reused.
func (h hostState) plus(touches []touch, n int64) hostState {
	for _, t := range touches {
		h = h.tally(t, n)
	}
	return h
}

func (h hostState) tally(t touch, n int64) hostState {
	i, found := h.find(t.group)
	switch {
	case found:
	case i == len(h):
		h = append(h, hostCount{group: t.group, cap: unbounded})
	default: // others may hold what follows
		h = slices.Insert(slices.Clip(h), i, hostCount{group: t.group, cap: unbounded})
	}
	before := h[i].count
	h[i].count += t.self * n
	h[i].cap = min(h[i].cap, t.cap)
	if of, ok := t.sharedBy(); ok {
		h = h.tally(touch{group: of, self: 1, cap: unbounded}, min(h[i].count, 1)-min(before, 1))
	}
	return h
}
