package purchase

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/amount"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
)

// balanceWindow bounds how many pod groups are compared for each pod that is added.
const balanceWindow = 48

// balance adds pods one by one: always the one whose needs point most in the
// direction of what is left of the machine, weighted by its size.
func (c *purchase) balance(m *assign.Machine) {
	room := c.s.Offerings[m.Offering].Room
	c.lookAround()
	for len(c.near) > 0 {
		i := c.balanced(m, room)
		step := max(1, amount.Copies(c.groups[i].Need, room, c.left[i])/8)
		if !c.take(m, i, step) {
			c.passOver(m, room, i)
		}
	}
}

// lookAround lists the pod groups to balance a machine with: all where there are few, else
// some of every size.
func (c *purchase) lookAround() {
	c.near, c.needs = c.near[:0], c.needs[:0]
	n := min(len(c.order), balanceWindow)
	for w := range n {
		i := c.order[w*len(c.order)/n]
		c.near = append(c.near, i)
		for _, v := range c.groups[i].Need {
			c.needs = append(c.needs, float64(v))
		}
	}
}

// balanced returns the pod group whose needs point most in the direction of what is left.
func (c *purchase) balanced(m *assign.Machine, room []int64) int {
	rest := c.rest
	for r, of := range room {
		rest[r] = 0
		if of > 0 {
			rest[r] = float64(of-m.Used[r]) / float64(of) / float64(of)
		}
	}
	best, bestFit, needs := -1, -1.0, c.needs
	for _, i := range c.near {
		fit := 0.0
		for r, v := range needs[:len(rest)] {
			fit += float64(v * rest[r])
		}
		needs = needs[len(rest):]
		if fit *= c.scale[i]; fit > bestFit {
			best, bestFit = i, fit
		}
	}
	return best
}

// passOver leaves out a pod group of which nothing more comes onto the machine, and others
// for which there is no room either.
func (c *purchase) passOver(m *assign.Machine, room []int64, group int) {
	free := c.rest
	for r := range free {
		free[r] = float64(room[r] - m.Used[r])
	}
	width, kept := len(free), 0
next:
	for w, i := range c.near {
		if i == group || c.taken[i] == c.left[i] {
			continue
		}
		need := c.needs[w*width : (w+1)*width]
		for r, n := range need {
			if n > 0 && n > free[r] {
				continue next
			}
		}
		c.near[kept] = i
		copy(c.needs[kept*width:], need)
		kept++
	}
	c.near, c.needs = c.near[:kept], c.needs[:kept*width]
}
