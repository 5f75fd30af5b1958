package pack

import "github.com/packhorse-io/terraform-provider-packhorse/internal/model"

// fill returns a machine of the column that begins with a pod of the seed.
func (c *cover) fill(column, seed int) *machine {
	m := c.machineOf(column)
	clear(c.taken)
	if !c.take(m, seed, 1) {
		c.empty = m
		return nil
	}
	if c.style == byBalance && c.s.uses(Balance) {
		c.balance(m)
	}
	c.fillUp(m)
	if c.s.uses(Exchange) {
		exchanger{c}.polish(m, seed)
	}
	return m
}

// fillUp adds as many pods as fit, of the largest lots first.
func (c *cover) fillUp(m *machine) {
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
func (c *cover) freeOn(m *machine) []int64 {
	for r, room := range c.s.Offerings[m.column].Room {
		c.spare[r] = room - m.used[r]
	}
	return c.spare
}

// needOf returns what a load of a lot needs.
func (c *cover) needOf(lot int) []int64 { return c.loadNeeds[lot*len(c.spare):][:len(c.spare)] }

// machineOf returns an empty machine of the column.
func (c *cover) machineOf(column int) *machine {
	m := c.empty
	if c.empty = nil; m == nil {
		return c.s.newMachine(column)
	}
	c.s.reset(m, column)
	return m
}

// take adds pods of a lot to the machine, as many as fit, at most n.
func (c *cover) take(m *machine, i int, n int64) bool {
	n = min(n, c.left[i]-c.taken[i])
	if n <= 0 {
		return false
	}
	k, residual := c.s.admit(m, c.lots[i], n)
	if k <= 0 {
		return false
	}
	m.add(c.lots[i], k, residual)
	c.taken[i] += k
	return true
}

// full reports whether not even the least need of every lot fits any more.
func (c *cover) full(m *machine) bool {
	for r, room := range c.s.Offerings[m.column].Room {
		if c.least[r] > 0 && c.least[r] > room-m.used[r] {
			return true
		}
	}
	return false
}
