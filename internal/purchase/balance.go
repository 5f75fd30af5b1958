package purchase

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
)

// balanceWindow bounds how many pod groups are compared for each item that is added.
const balanceWindow = 48

// balance adds items one by one: always the one whose needs point most in the
// direction of what is left of the machine, weighted by its size.
func (f *filler) balance(m *assign.Machine) {
	b, room := &f.balancer, f.Offerings[m.Offering].Room
	b.set(f)
	for len(b.groups) > 0 {
		i := b.next(m.Used, room)
		step := max(1, amount.Copies(f.asked[i].Need, room, f.left[i])/8)
		if !f.take(m, i, step) {
			b.passOver(m.Used, room, func(of int) bool { return of == i || f.taken[of] == f.left[of] })
		}
	}
}

// balancer compares pod groups with what is left of a machine. Needs are side by side as
// numbers of the kind that they are compared by, because this is the innermost loop.
type balancer struct {
	groups []int
	scale  []float64
	needs  []float64 // one group after the other
	rest   []float64 // by resource, scratch
}

// set lists the pod groups to balance a machine with: all where there are few, else some of
// every size.
func (b *balancer) set(f *filler) {
	b.groups, b.scale, b.needs = b.groups[:0], b.scale[:0], b.needs[:0]
	n := min(len(f.queue), balanceWindow)
	for w := range n {
		i := f.queue[w*len(f.queue)/n]
		b.groups, b.scale = append(b.groups, i), append(b.scale, f.values.scale[i])
		for _, v := range f.asked[i].Need {
			b.needs = append(b.needs, float64(v))
		}
	}
	if b.rest == nil {
		b.rest = make([]float64, len(f.Space.Names))
	}
}

// next returns the pod group whose needs point most in the direction of what is left.
func (b *balancer) next(used, room []int64) int {
	rest := b.rest
	for r, of := range room {
		rest[r] = 0
		if of > 0 {
			rest[r] = float64(of-used[r]) / float64(of) / float64(of)
		}
	}
	best, bestFit, needs := -1, -1.0, b.needs
	for w, i := range b.groups {
		fit := 0.0
		for r, v := range needs[:len(rest)] {
			fit += float64(v * rest[r])
		}
		needs = needs[len(rest):]
		if fit *= b.scale[w]; fit > bestFit {
			best, bestFit = i, fit
		}
	}
	return best
}

// passOver leaves out pod groups of which nothing more comes onto the machine, and others for
// which there is no room.
func (b *balancer) passOver(used, room []int64, out func(group int) bool) {
	free := b.rest
	for r := range free {
		free[r] = float64(room[r] - used[r])
	}
	width, kept := len(free), 0
next:
	for w, i := range b.groups {
		if out(i) {
			continue
		}
		need := b.needs[w*width : (w+1)*width]
		for r, n := range need {
			if n > 0 && n > free[r] {
				continue next
			}
		}
		b.groups[kept], b.scale[kept] = i, b.scale[w]
		copy(b.needs[kept*width:], need)
		kept++
	}
	b.groups, b.scale, b.needs = b.groups[:kept], b.scale[:kept], b.needs[:kept*width]
}
