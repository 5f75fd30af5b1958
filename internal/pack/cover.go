package pack

import (
	"cmp"
	"math"
	"slices"
)

// A cover buys machines for lots. It repeats: price the resources for what is
// left to buy (duals), take the largest lot, fill one machine of each of the
// columns that are the best worth for the money, keep the one that gets the most
// worth per price, and buy it as often as the counts allow.
type cover struct {
	s       *solver
	lots    []*lot
	left    []int64
	order   []int // lots with something left, the largest first
	sorted  []int // all lots in that order
	sellers []*seller
	budget  budget
	style   style
	columns []int     // candidates: one of each group of columns that no lot tells apart
	worth   []float64 // of a pod of each lot
	rate    []float64 // price of a candidate over the worth of its room
	window  []int     // lots for exchanges, the most worth first
	least   []int64   // of each resource that all lots of the order need, the least need
	taken   []int64   // loads of each lot on the machine that is being filled
	spare   []int64   // scratch
	bought  []*machine
	cost    int64
}

// style is how a machine is filled.
type style int

const (
	bySize    style = iota // the largest that fits
	byBalance              // what leaves the rest of the machine best proportioned
)

var styles = [...]style{byBalance, bySize}

// How many columns a machine is filled for, to compare: at least leastCandidates,
// and more where there are few lots, so that the effort stays about the same.
const (
	leastCandidates = 10
	fillsPerStep    = 2048
)

func (s *solver) newCover(lots []*lot, sellers []*seller, b budget, st style) *cover {
	c := &cover{s: s, sellers: sellers, budget: b.clone(), style: st}
	for _, l := range lots {
		if l.n > 0 && slices.ContainsFunc(sellers, func(p *seller) bool { return anyIn(l.mask, p.columns) }) {
			l.index = len(c.lots)
			c.order = append(c.order, l.index)
			c.lots = append(c.lots, l)
			c.left = append(c.left, l.n)
		}
	}
	// Important pods first, in case that limits do not allow all.
	slices.SortStableFunc(c.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(c.lots[j].priority(), c.lots[i].priority()), cmp.Compare(c.lots[j].size, c.lots[i].size))
	})
	c.sorted = slices.Clone(c.order)
	c.columns = c.candidates()
	c.worth, c.taken = make([]float64, len(c.lots)), make([]int64, len(c.lots))
	c.least, c.spare = make([]int64, len(s.space.names)), make([]int64, len(s.space.names))
	c.rate = make([]float64, len(c.columns))
	return c
}

// priority is that of the load's most important pod.
func (l *lot) priority() int32 {
	highest := l.parts[0].class.template.Priority
	for _, p := range l.parts[1:] {
		highest = max(highest, p.class.template.Priority)
	}
	return highest
}

func anyIn(b bitset, span [2]int) bool {
	for k := range b.all {
		if k >= span[0] {
			return k < span[1]
		}
	}
	return false
}

// candidates lists what to buy: of the columns that exactly the same lots allow,
// those of which no cheaper one has as much room. Where a limit counts capacity, a
// dearer one may be needed: then of each shape the cheapest.
func (c *cover) candidates() []int {
	masks, needed := c.distinctMasks(), c.needed()
	alike := !slices.Contains(c.s.choices, true) // labels do not tell columns of the same lots apart
	rivals := map[string][]int{}
	var out []int
	key := make([]byte, (len(masks)+7)/8+1)
	for _, p := range c.sellers {
		clear(rivals)
		for k := p.columns[0]; k < p.columns[1]; k++ { // cheapest first
			clear(key)
			some := false
			for i, m := range masks {
				if m.has(k) {
					key[i/8] |= 1 << (i % 8)
					some = true
				}
			}
			if c.s.columns[k].special {
				key[len(key)-1] = 1
			}
			if some && !slices.ContainsFunc(rivals[string(key)], func(j int) bool {
				return c.s.columns[j].shape == c.s.columns[k].shape || alike && c.needless(k, j, needed)
			}) {
				rivals[string(key)] = append(rivals[string(key)], k)
				out = append(out, k)
			}
		}
	}
	return out
}

// needed tells which resources the lots need.
func (c *cover) needed() []bool {
	out := make([]bool, len(c.s.space.names))
	for _, l := range c.lots {
		for r, v := range l.need {
			out[r] = out[r] || v > 0
		}
	}
	return out
}

// needless reports whether column k has nothing that the cheaper j does not have.
func (c *cover) needless(k, j int, needed []bool) bool {
	x, y := &c.s.columns[j], &c.s.columns[k]
	if c.budget[x.provisioner] != nil || !slices.Equal(x.daemons, y.daemons) {
		return false
	}
	for r, v := range y.room {
		if needed[r] && v > x.room[r] {
			return false
		}
	}
	return true
}

// distinctMasks lists the sets of columns that the lots' requirements allow.
func (c *cover) distinctMasks() []bitset {
	seen := map[int]bool{}
	var out []bitset
	for _, l := range c.lots {
		if !seen[l.opt.id] {
			seen[l.opt.id] = true
			out = append(out, l.opt.columns)
		}
	}
	return out
}

// run buys until nothing is left or nothing more can be bought.
func (c *cover) run() {
	for {
		c.order = slices.DeleteFunc(c.order, func(i int) bool { return c.left[i] == 0 })
		if len(c.order) == 0 {
			return
		}
		c.price()
		best := c.bestFor(c.order[0])
		if best == nil {
			c.order = c.order[1:] // no column can be had for this lot any more
			continue
		}
		c.buy(best)
	}
}

// price sets the worth of the lots and the rates of the candidates.
func (c *cover) price() {
	width := len(c.s.space.names)
	d := newDemand(width)
	for _, i := range c.order {
		d.add(c.lots[i].need, c.left[i])
	}
	y := c.s.worthOf(d, c.columns, int64(c.s.problem.NodeCost))
	for j, k := range c.columns {
		col := &c.s.columns[k]
		c.rate[j] = math.Inf(1)
		if w := d.worthOfRoom(col.room, y); w > 0 {
			c.rate[j] = float64(col.price+int64(c.s.problem.NodeCost)) / w
		}
	}
	for r := range c.least {
		c.least[r] = math.MaxInt64
	}
	for _, i := range c.order {
		c.worth[i] = worthOfVector(c.lots[i].need, y)
		for r, v := range c.lots[i].need {
			c.least[r] = min(c.least[r], v)
		}
	}
	c.sample()
}

// full reports whether not even the least need of every lot fits any more.
func (c *cover) full(m *machine) bool {
	for r, room := range c.s.columns[m.column].room {
		if c.least[r] > 0 && c.least[r] > room-m.used[r] {
			return true
		}
	}
	return false
}

// bestFor fills a machine of each promising column, starting with a pod of the
// given lot, and returns the one that gets the most worth for its price.
func (c *cover) bestFor(seed int) *machine {
	var best *machine
	bestScore := 0.0
	for _, j := range c.promising(seed) {
		if best != nil && bestScore*c.rate[j] >= 1 {
			continue // even a full machine of this column gets less for its price
		}
		m := c.fill(c.columns[j], seed)
		if m == nil {
			continue
		}
		c.s.shrink(m, func(col *column) bool { return c.budget.affords(col, 1) > 0 })
		if score := c.score(m); best == nil || score > bestScore*(1+1e-9) {
			best, bestScore = m, score
		}
	}
	return best
}

func (c *cover) score(m *machine) float64 {
	return c.worthOfItems(m) / float64(max(1, c.costOf(m)))
}

// promising lists the candidates (as indices of columns) that hold the lot, the best rates first, of
// equal ones the largest first, and among them the cheapest that holds all that is left.
func (c *cover) promising(seed int) []int {
	mask := c.lots[seed].mask
	var able []int
	for j, k := range c.columns {
		if mask.has(k) && c.budget.affords(&c.s.columns[k], 1) > 0 {
			able = append(able, j)
		}
	}
	slices.SortStableFunc(able, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.rate[a], c.rate[b]), cmp.Compare(c.s.columns[c.columns[b]].price, c.s.columns[c.columns[a]].price))
	})
	most := leastCandidates + fillsPerStep/len(c.order)
	if len(able) <= most {
		return able
	}
	out := able[:most:most]
	if j, ok := c.last(able); ok && !slices.Contains(out, j) {
		out = append(out, j)
	}
	return out
}

// last returns the cheapest candidate that could hold all that is left.
func (c *cover) last(able []int) (int, bool) {
	all := make([]int64, len(c.s.space.names))
	for _, i := range c.order {
		addTimes(all, c.lots[i].need, c.left[i])
	}
	best, found := 0, false
	for _, j := range able {
		col := &c.s.columns[c.columns[j]]
		if fits(all, col.room) && (!found || col.price < c.s.columns[c.columns[best]].price) {
			best, found = j, true
		}
	}
	return best, found
}

// fill returns a machine of the column that begins with a pod of the seed.
func (c *cover) fill(column, seed int) *machine {
	m := c.s.newMachine(column)
	clear(c.taken)
	if !c.take(m, seed, 1) {
		return nil
	}
	if c.style == byBalance {
		c.balance(m)
	}
	for _, i := range c.order {
		if c.full(m) {
			break
		}
		c.take(m, i, c.left[i])
	}
	c.polish(m, seed)
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

// balanceWindow bounds how many lots are compared for each pod that is added.
const balanceWindow = 48

// balance adds pods one by one: always the one whose needs point most in the
// direction of what is left of the machine, weighted by its size.
func (c *cover) balance(m *machine) {
	col := &c.s.columns[m.column]
	n := min(len(c.order), balanceWindow)
	window := make([]int, n)
	for w := range window {
		window[w] = c.order[w*len(c.order)/n]
	}
	rest := make([]float64, len(m.used))
	for len(window) > 0 {
		for r, room := range col.room {
			rest[r] = 0
			if room > 0 {
				rest[r] = float64(room-m.used[r]) / float64(room) / float64(room)
			}
		}
		best, bestFit := -1, -1.0
		for w, i := range window {
			if fit := worthOfVector(c.lots[i].need, rest); fit > bestFit {
				best, bestFit = w, fit
			}
		}
		i := window[best]
		step := max(1, copies(c.lots[i].need, col.room, c.left[i])/8)
		if !c.take(m, i, step) {
			window = slices.Delete(window, best, best+1)
		}
	}
}

// buy takes the machine as often as the counts and limits allow.
func (c *cover) buy(m *machine) {
	col := &c.s.columns[m.column]
	times := int64(math.MaxInt64)
	for _, it := range m.items {
		times = min(times, c.left[it.lot.index]/it.n)
	}
	times = max(1, c.budget.affords(col, times))
	c.budget.spend(col, times)
	for _, it := range m.items {
		c.left[it.lot.index] -= it.n * times
	}
	c.cost += times * (col.price + int64(c.s.problem.NodeCost))
	for range times {
		c.bought = append(c.bought, m)
	}
}
