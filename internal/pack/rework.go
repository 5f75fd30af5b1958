package pack

import (
	"cmp"
	"math"
	"slices"
)

// How far the search for a cheaper tail goes.
const (
	reworkMachines = 4    // bought anew together
	reworkTimes    = 6    // successes in a row
	reworkGain     = 1e-3 // of the whole cost has to be in reach
	trialShare     = 8    // of the trials that remain, one search uses at most one in so many
)

// rework looks for cheaper machines for the content of the tail: the machines with
// the most room left, first few, then more together.
func (c *cover) rework() {
	for times, n := 0, 1; c.s.trials > 0 && times < reworkTimes && n <= min(reworkMachines, len(c.bought)); {
		if c.buyAgain(c.leastUsed(n)) {
			times++
			n = 1
		} else {
			n++
		}
	}
}

// buyAgain replaces machines by cheaper ones for the same content, if any are found.
func (c *cover) buyAgain(which []int) bool {
	left, order, style := c.left, c.order, c.style
	defer func() { c.left, c.order, c.style = left, order, style }()
	c.left, c.order = make([]int64, len(c.lots)), nil
	cost := int64(0)
	for _, i := range which {
		m := c.bought[i]
		cost += c.costOf(m)
		c.budget.spend(&c.s.columns[m.column], -1)
		for _, it := range m.items {
			c.left[it.lot.index] += it.n
		}
	}
	for _, i := range c.sorted {
		if c.left[i] > 0 {
			c.order = append(c.order, i)
		}
	}
	s := &search{cover: c, cost: cost, fills: max(1, c.s.trials/trialShare)}
	c.s.trials -= s.fills
	s.run()
	c.s.trials = max(0, c.s.trials+s.fills)
	if s.best == nil {
		for _, i := range which {
			c.budget.spend(&c.s.columns[c.bought[i].column], 1)
		}
		return false
	}
	for _, m := range s.best {
		s.cost -= c.costOf(m)
		c.s.shrink(m, func(col *column) bool { return c.budget.affords(col, 1) > 0 })
		s.cost += c.costOf(m)
		c.budget.spend(&c.s.columns[m.column], 1)
	}
	slices.Sort(which)
	for _, i := range slices.Backward(which) {
		c.bought = slices.Delete(c.bought, i, i+1)
	}
	c.bought = append(c.bought, s.best...)
	c.cost += s.cost - cost
	return true
}

// search is a branch-and-bound over the next machine to buy. What is left costs at
// least its worth: the worth of resources solves the dual of the relaxation, so no
// machine's content is worth more than the machine costs.
type search struct {
	*cover
	able   []int // candidates, best rates first
	chosen []*machine
	best   []*machine
	cost   int64 // of the best, or what is to be undercut
	fills  int   // that may still be made
}

// branch is a machine that may be bought next, with the least that all then costs.
type branch struct {
	machine *machine
	least   float64
}

func (s *search) run() {
	s.price()
	for j := range s.columns {
		if s.costOfColumn(j) < s.cost {
			s.able = append(s.able, j)
		}
	}
	slices.SortStableFunc(s.able, func(a, b int) int { return cmp.Compare(s.rate[a], s.rate[b]) })
	rest := 0.0
	for _, i := range s.order {
		rest += float64(float64(s.left[i]) * s.worth[i])
	}
	if float64(s.cost)-rest > reworkGain*float64(s.cover.cost) {
		s.from(0, rest)
	}
}

func (c *cover) costOfColumn(j int) int64 { return c.s.columns[c.columns[j]].price + c.nodeCost() }

// from buys for what is left, once so much is spent; rest is its worth.
func (s *search) from(spent int64, rest float64) {
	first := slices.IndexFunc(s.order, func(i int) bool { return s.left[i] > 0 })
	if first < 0 {
		s.best, s.cost = slices.Clone(s.chosen), spent
		return
	}
	for _, b := range s.branches(s.order[first], spent, rest) {
		if !s.cheaper(b.least) {
			return // sorted
		}
		m, col := b.machine, &s.s.columns[b.machine.column]
		s.chosen = append(s.chosen, m)
		s.budget.spend(col, 1)
		for _, it := range m.items {
			s.left[it.lot.index] -= it.n
		}
		s.from(spent+s.costOf(m), rest-s.worthOfItems(m))
		for _, it := range m.items {
			s.left[it.lot.index] += it.n
		}
		s.budget.spend(col, -1)
		s.chosen = s.chosen[:len(s.chosen)-1]
	}
}

// cheaper reports whether what costs at least so much may be cheaper than the best.
// Costs are whole numbers.
func (s *search) cheaper(least float64) bool { return math.Ceil(least*safety) < float64(s.cost) }

// branches fills a machine of each candidate and sorts by the least that all costs.
func (s *search) branches(seed int, spent int64, rest float64) []branch {
	var out []branch
	for _, j := range s.able {
		k := s.columns[j]
		price := float64(s.costOfColumn(j))
		least := float64(spent) + price + max(0, rest-float64(price*s.most[j]))
		if !s.cheaper(least) || !s.lots[seed].mask.has(k) || s.budget.affords(&s.s.columns[k], 1) == 0 {
			continue
		}
		for _, st := range styles {
			if s.fills == 0 {
				break
			}
			s.fills--
			s.style = st
			m := s.fill(k, seed)
			if m == nil {
				break
			}
			least = float64(spent+s.costOf(m)) + max(0, rest-s.worthOfItems(m))
			if s.cheaper(least) {
				out = append(out, branch{m, least})
			}
			if len(s.order) == 1 {
				break // there is only one way to fill a machine with one lot
			}
		}
	}
	slices.SortStableFunc(out, func(a, b branch) int { return cmp.Compare(a.least, b.least) })
	return out
}

func (c *cover) worthOfItems(m *machine) float64 {
	worth := 0.0
	for _, it := range m.items {
		worth += float64(float64(it.n) * c.worth[it.lot.index])
	}
	return worth
}
