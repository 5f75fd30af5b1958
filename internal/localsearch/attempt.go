package localsearch

import (
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
)

// attempt is what is bought for the content of machines that were taken out.
type attempt struct {
	left  []int64 // by item
	pool  []int   // items of which something is left, in order
	sum   []int64 // that what is left needs
	made  []content
	count int // of made
	last  content
	tried content
	next  content
	// Scratch.
	rest   []int64
	near   []int
	weight []float64
}

// content is a machine that is being filled.
type content struct {
	holding
	used []int64
}

func newAttempt(items, width, offerings int) attempt {
	a := attempt{left: make([]int64, items), sum: make([]int64, width), rest: make([]int64, width), weight: make([]float64, width)}
	for _, c := range []*content{&a.last, &a.tried, &a.next} {
		*c = newContent(width, offerings)
	}
	return a
}

func newContent(width, offerings int) content {
	return content{holding: holding{on: bitset.New(offerings)}, used: make([]int64, width)}
}

func (c *content) hold() holding {
	h := c.holding
	h.parts, h.on = slices.Clone(c.parts), slices.Clone(c.on)
	return h
}

func (c *content) set(o *content) {
	c.offering, c.cost, c.value = o.offering, o.cost, o.value
	c.parts = append(c.parts[:0], o.parts...)
	copy(c.used, o.used)
	copy(c.on, o.on)
}

func (a *attempt) begin() {
	a.pool, a.count = a.pool[:0], 0
	clear(a.sum)
}

// collect adds what a machine had.
func (a *attempt) collect(parts []Part, m *market) {
	for _, part := range parts {
		if a.left[part.Item] == 0 {
			a.pool = append(a.pool, part.Item)
		}
		a.left[part.Item] += part.N
		for r, v := range m.needOf(part.Item) {
			a.sum[r] += v * part.N
		}
	}
}

// add makes a content the next of the machines bought.
func (a *attempt) add(c *content) {
	if a.count == len(a.made) {
		a.made = append(a.made, newContent(len(c.used), 64*len(c.on)))
	}
	a.made[a.count].set(c)
	a.count++
}
