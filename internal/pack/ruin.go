package pack

import (
	"cmp"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
)

// Where a purchase costs more than it has to, a large-neighbourhood search goes on: take
// a few machines out, wasteful ones rather than others, buy for their content again,
// keep what is cheaper, and now and then what is a little dearer, so that the search does
// not end in the first hollow (ruin and recreate with simulated annealing: Schrimpf and
// others 2000). What pods are worth is fixed by the linear program: no content of a
// machine is worth more than it costs, so that an attempt ends as soon as what is left
// cannot come out cheaper.

const (
	// ruinGap is the distance from what is proven that is close enough.
	ruinGap = 5e-3
	// fewestOut and mostOut bound how many machines are taken out at a time.
	fewestOut, mostOut = 2, 6
	// tries is how many candidates a machine is filled for, of the best eight.
	tries, amongBest = 2, 8
	// warmth is the share of what a machine costs on average by which a purchase may
	// become dearer at the begin of a cycle; it falls to nothing at its end.
	warmth = 0.1
	// firstCycle is how many machines are filled in the first cycle. Each of the next
	// is half as long again, and begins with the best that is known: what comes first
	// does not depend on how long the search may go on, so that more is never worse.
	firstCycle = 1000
	// leastRuined is the share of the cost that a cycle has to gain so as not to be idle.
	// Unless somebody has said how much time there is, there may be one idle cycle more
	// for each idlePerGap of the gap to what is proven.
	leastRuined, idlePerGap = 1e-3, 0.02
	// trialsPerFill is how many trials a machine that is filled counts for: those that
	// are polished for the few pods of a neighbourhood take about twice as long.
	trialsPerFill = 2
)

// ruin is a search for a cheaper purchase of what a cover has bought.
type ruin struct {
	*cover
	random sequence
	worth  []float64 // of a load of each lot, which proves what all cost at least
	rates  []float64 // by candidate: the most that its room can be worth for its cost
	ranked [][]int   // by mask: candidates, the best first
	fills  int       // that may still be made
}

// sequence is a fixed sequence of numbers that look as if drawn (Lehmer 1951): a search
// is the same each time.
type sequence uint64

// below returns the next number from 0 to n-1.
func (s *sequence) below(n int) int {
	*s = *s * 48271 % 2147483647
	return int(uint64(*s) % uint64(n))
}

// ruin looks for a cheaper purchase as long as trials are left and the gap to what is
// proven is worth it.
func (c *cover) ruin(least float64, worth []float64) {
	if len(c.bought) < fewestOut || c.unmet() > 0 {
		return
	}
	left, order, style, before := c.left, c.order, c.style, c.worth
	defer func() { c.left, c.order, c.style, c.worth = left, order, style, before }()
	c.left, c.worth = make([]int64, len(c.lots)), worth
	enough := least * (1 + ruinGap)
	idle := 0.0
	for r, cycle := c.newRuin(worth), firstCycle; c.s.ruins > 0 && float64(c.cost) > enough; cycle += cycle / 2 {
		cost := c.cost
		r.cycle(min(cycle, c.s.ruins/trialsPerFill+1), cycle, enough)
		if float64(cost-c.cost) < leastRuined*float64(cost) {
			idle++
		}
		if gap := float64(c.cost)/least - 1; !c.s.patient && idle*idlePerGap > gap {
			return
		}
	}
}

// cycle fills so many machines of a cycle of some length, and leaves the cover with the
// best purchase that is known.
func (r *ruin) cycle(fills, length int, enough float64) {
	best, cost := slices.Clone(r.bought), r.cost
	r.fills = fills
	for r.fills > 0 && float64(cost) > enough {
		heat := warmth * float64(length-fills+r.fills) / float64(length) * float64(r.cost) / float64(len(r.bought))
		chance := float64(r.random.below(1000)) / 1000
		r.attempt(int64(heat * chance * chance))
		if r.cost < cost {
			best, cost = append(best[:0], r.bought...), r.cost
		}
	}
	r.s.ruins -= (fills - r.fills) * trialsPerFill
	r.bought, r.cost, r.budget = best, cost, r.before.clone()
	for _, m := range r.bought {
		r.budget.spend(&r.s.Offerings[m.column], 1)
	}
}

func (c *cover) newRuin(worth []float64) *ruin {
	r := &ruin{cover: c, random: 1, worth: worth, rates: make([]float64, len(c.columns))}
	c.order = slices.Clone(c.sorted)
	for i, l := range c.lots {
		c.left[i] = l.n
	}
	c.price()
	clear(c.left)
	// What a unit of each resource is worth to the group that pays most decides.
	for j := range c.columns {
		r.rates[j] = c.most[j]
	}
	for _, mask := range c.masks {
		var able []int
		for j, k := range c.columns {
			if mask.Has(k) {
				able = append(able, j)
			}
		}
		slices.SortStableFunc(able, func(a, b int) int { return cmp.Compare(r.rates[b], r.rates[a]) })
		r.ranked = append(r.ranked, able)
	}
	return r
}

// attempt takes machines out and buys for their content again, at most so much dearer.
func (r *ruin) attempt(dearer int64) {
	r.fills-- // so that the search ends where nothing can be filled
	least := min(fewestOut, len(r.bought))
	out := r.choose(least + r.random.below(min(mostOut, len(r.bought))-least+1))
	cost := int64(0)
	clear(r.left)
	for _, i := range out {
		m := r.bought[i]
		cost += r.costOf(m)
		r.budget.spend(&r.s.Offerings[m.column], -1)
		for _, it := range m.items {
			r.left[it.lot.index] += it.n
		}
	}
	again, price := r.recreate(cost + dearer)
	if again == nil {
		for _, i := range out {
			r.budget.spend(&r.s.Offerings[r.bought[i].column], 1)
		}
		return
	}
	slices.Sort(out)
	for _, i := range slices.Backward(out) {
		last := len(r.bought) - 1
		r.bought[i] = r.bought[last]
		r.bought = r.bought[:last]
	}
	r.bought = append(r.bought, again...)
	r.cost += price - cost
}

// choose draws machines: of three each time the one that wastes most.
func (r *ruin) choose(n int) []int {
	var out []int
	for len(out) < n {
		at, most := -1, 0.0
		for range 3 {
			i := r.random.below(len(r.bought))
			if slices.Contains(out, i) {
				continue
			}
			if w := r.wasted(r.bought[i]); at < 0 || w > most {
				at, most = i, w
			}
		}
		if at >= 0 {
			out = append(out, at)
		}
	}
	return out
}

// recreate buys for what is left at less than so much, or returns nothing.
func (r *ruin) recreate(most int64) ([]*machine, int64) {
	r.order = r.order[:0]
	rest := 0.0
	for _, i := range r.sorted {
		if r.left[i] > 0 {
			r.order = append(r.order, i)
			rest += float64(float64(r.left[i]) * r.worth[i])
		}
	}
	r.sample()
	var out []*machine
	spent := int64(0)
	for len(r.order) > 0 {
		m := r.next(most - spent)
		if m == nil {
			break
		}
		spent += r.costOf(m)
		rest -= r.worthOfItems(m)
		if float64(spent)+max(0, rest) >= float64(most) {
			break
		}
		out = append(out, m)
		r.budget.spend(&r.s.Offerings[m.column], 1)
		for _, it := range m.items {
			r.left[it.lot.index] -= it.n
		}
		r.order = slices.DeleteFunc(r.order, func(i int) bool { return r.left[i] == 0 })
	}
	if len(r.order) > 0 || spent >= most {
		for _, m := range out {
			r.budget.spend(&r.s.Offerings[m.column], -1)
		}
		return nil, 0
	}
	return out, spent
}

// next fills machines of some candidates and returns the one that wastes the least part
// of its price.
func (r *ruin) next(most int64) *machine {
	seed := r.order[0]
	if r.random.below(4) == 0 {
		seed = r.order[r.random.below(len(r.order))]
	}
	var best *machine
	score := 0.0
	try := func(j int) {
		k := r.columns[j]
		if r.costOfColumn(j) >= most+most/4 || !r.lots[seed].mask.Has(k) || r.budget.affords(&r.s.Offerings[k], 1) == 0 {
			return
		}
		r.fills--
		r.style = styles[r.random.below(len(styles))]
		m := r.fill(k, seed)
		if m == nil {
			return
		}
		r.s.shrink(m, func(col *model.Offering) bool { return r.budget.affords(col, 1) > 0 })
		if s := r.score(m) * (1 + 0.02*float64(r.random.below(100))/100); best == nil || s > score {
			best, score, m = m, s, best
		}
		r.empty = m
	}
	able := r.ranked[r.maskOf[seed]]
	for range tries {
		if n := min(len(able), amongBest); n > 0 {
			try(able[r.random.below(n)])
		}
	}
	if n := len(able); n > amongBest {
		try(able[r.random.below(n)])
	}
	if j, ok := r.last(able); ok {
		try(j)
	}
	return best
}

func (c *cover) costOfColumn(j int) int64 { return c.s.Offerings[c.columns[j]].Price + c.nodeCost() }

func (c *cover) worthOfItems(m *machine) float64 {
	worth := 0.0
	for _, it := range m.items {
		worth += float64(float64(it.n) * c.worth[it.lot.index])
	}
	return worth
}
