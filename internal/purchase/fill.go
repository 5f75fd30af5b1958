package purchase

import (
	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// fill returns a machine of the offering that begins with a pod of the seed.
func (c *purchase) fill(offering, seed int) *assign.Machine {
	m := c.machineOf(offering)
	clear(c.taken)
	if !c.take(m, seed, 1) {
		c.empty = m
		return nil
	}
	if c.style == byBalance && c.s.Uses(assign.Balance) {
		c.balance(m)
	}
	c.fillUp(m)
	if c.s.Uses(assign.Exchange) {
		exchanger{c}.improve(m, seed)
	}
	return m
}

// fillUp adds as many pods as fit, of the largest pod groups first.
func (c *purchase) fillUp(m *assign.Machine) {
	free := c.freeOn(m)
	for _, i := range c.order {
		if !model.Fits(c.needOf(i), free) || !c.take(m, i, c.left[i]) {
			continue
		}
		if c.full(m) {
			return
		}
		c.freeOn(m)
	}
}

// freeOn returns what is left of the machine's room. It holds until it is called again.
func (c *purchase) freeOn(m *assign.Machine) []int64 {
	for r, room := range c.s.Offerings[m.Offering].Room {
		c.spare[r] = room - m.Used[r]
	}
	return c.spare
}

// needOf returns what a load of a pod group needs.
func (c *purchase) needOf(group int) []int64 { return c.loadNeeds[group*len(c.spare):][:len(c.spare)] }

// machineOf returns an empty machine of the offering.
func (c *purchase) machineOf(offering int) *assign.Machine {
	m := c.empty
	if c.empty = nil; m == nil {
		return c.s.NewMachine(offering)
	}
	c.s.Reset(m, offering)
	return m
}

// take adds pods of a pod group to the machine, as many as fit, at most n.
func (c *purchase) take(m *assign.Machine, i int, n int64) bool {
	n = min(n, c.left[i]-c.taken[i])
	if n <= 0 {
		return false
	}
	k, residual := c.s.Admit(m, c.groups[i], n)
	if k <= 0 {
		return false
	}
	m.Add(c.groups[i], k, residual)
	c.taken[i] += k
	return true
}

// full reports whether not even the least need of every pod group fits any more.
func (c *purchase) full(m *assign.Machine) bool {
	for r, room := range c.s.Offerings[m.Offering].Room {
		if c.least[r] > 0 && c.least[r] > room-m.Used[r] {
			return true
		}
	}
	return false
}
