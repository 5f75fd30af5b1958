package purchase

import (
	"maps"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// enlarger moves machines to larger offerings that also hold items which limits leave without
// a machine. What is bought for the least price may leave room within a limit that no further
// machine fits into, for example memory on machines that have no more cores.
type enlarger struct {
	*bought
	choices map[*assign.Machine][]int // what choicesFor has returned, as long as it holds
}

// enlarge moves machines to larger offerings as long as that serves more items.
func (b *bought) enlarge() {
	e := &enlarger{bought: b, choices: map[*assign.Machine][]int{}}
	for _, i := range b.of.order {
		var fixed *assign.Machine // the last that cannot be larger: others share its content
		for at := 0; at < len(b.machines) && b.left[i] > 0; at++ {
			if b.machines[at] == fixed {
				continue
			}
			for b.left[i] > 0 && e.enlargeOne(at, b.of.asked[i]) {
			}
			fixed = b.machines[at]
		}
	}
}

// enlargeOne moves a machine to the cheapest offering that also holds items of the pod group,
// puts as many of them there as that takes, and reports whether there is one.
func (e *enlarger) enlargeOne(at int, g *assign.PodGroup) bool {
	r, m := e.of, e.machines[at]
	k, n, residual := e.largerFor(m, g)
	if n == 0 {
		return false
	}
	before, after := &r.Offerings[m.Offering], &r.Offerings[k]
	e.limits.Spend(before, -1)
	e.limits.Spend(after, 1)
	m = m.Clone()
	m.Offering = k
	m.Add(g, n, residual)
	e.left[g.Index] -= n
	e.cost += after.Cost - before.Cost
	e.machines[at] = m
	maps.DeleteFunc(e.choices, func(other *assign.Machine, _ []int) bool { return other.Pool == m.Pool })
	return true
}

// largerFor returns the cheapest offering that has room for the content of a machine and for
// items of the pod group, and how many it takes; 0 of them where there is none.
func (e *enlarger) largerFor(m *assign.Machine, g *assign.PodGroup) (offering int, n int64, residual int) {
	r := e.of
	if !m.Mask.Meets(g.Mask) || len(g.Parts) == 1 && !r.Followed(m, g.Parts[0].Class) {
		return 0, 0, 0
	}
	larger := *m
	for _, k := range e.choicesFor(m) {
		larger.Offering = k
		if n, residual = r.Admit(&larger, g, e.left[g.Index]); n > 0 {
			return k, n, residual
		}
	}
	return 0, 0, 0
}

// choicesFor lists the offerings that the machine may move to with what is on it, the cheapest
// first, its own included. Limits allow them in its place.
func (e *enlarger) choicesFor(m *assign.Machine) []int {
	choices, known := e.choices[m]
	if known {
		return choices
	}
	r, own := e.of, &e.of.Offerings[m.Offering]
	e.limits.Spend(own, -1)
	for k := range m.Mask.Within(m.Pool.Offerings) { // sorted by price
		o := &r.Offerings[k]
		if e.affords(o) && model.Fits(m.Used, o.Room) && r.LeavesChoice(m.Residual, o) && r.SameDaemons(k, m.Offering) {
			choices = append(choices, k)
		}
	}
	e.limits.Spend(own, 1)
	e.choices[m] = choices
	return choices
}
