package pack

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// buyer buys machines, as long as there are trials left.
type buyer struct {
	*Market
	trials   int  // machines that may still be filled to make a plan
	searches int  // the same to search for a cheaper one
	patient  bool // somebody has said how long to search
	enlarged bool // trials are in proportion to the pods already
}

// newBuyer returns a buyer for so many pods with so many trials, 0 for what is usual.
func newBuyer(m *Market, pods, trials int) *buyer {
	all := cmp.Or(trials, defaultTrials(pods))
	making := max(1, all/makingShare)
	return &buyer{Market: m, trials: making, searches: all - making, patient: trials > 0}
}

// A cover buys machines for lots. It repeats: price the resources for what is
// left to buy (duals), take the largest lot, fill one machine of each of the
// columns that are the best worth for the money, keep the one that gets the most
// worth per price, and buy it as often as the counts allow.
type cover struct {
	s           *buyer
	lots        []*lot
	left        []int64
	loadNeeds   []int64 // what a load of each lot needs, one after the other
	order       []int   // lots with something left, the largest first
	sorted      []int   // all lots in that order
	sellers     []*model.Pool
	before      budget // what limits leave for all of it
	budget      budget
	limited     bool  // limits bind, and nobody else sells what they do not allow
	perNode     int64 // what a machine is taken to cost beyond its price and NodeCost
	style       style
	pricing     *price.Pricing
	demand      *price.Demand  // scratch
	columns     []int          // candidates: one of each group of columns that no lot tells apart
	unit        []float64      // worth of a unit of each resource
	worth       []float64      // of a load of each lot
	scale       []float64      // by lot: what the cheapest way to have its needs costs for a unit of worth
	rate        []float64      // by candidate: its cost for a unit of its room's worth
	byRate      []int          // candidates, the best rate first
	most        []float64      // by candidate: the most that a full one can be worth for its cost
	masks       []model.Bitset // distinct sets of columns that lots allow
	maskOf      []int          // by lot
	window      []offered      // lots for exchanges, the most worth first
	windowNeeds []int64        // what loads of these need, one after the other
	dearest     float64        // the largest scale of any of these
	least       []int64        // of each resource that all lots of the order need, the least need
	taken       []int64        // loads of each lot on the machine that is being filled
	spare       []int64        // scratch
	near        []int          // scratch: lots to balance a machine with, their needs, and what is left of it
	needs       []float64
	rest        []float64
	empty       *machine // one that nobody has a use for, to be filled next
	bought      []*machine
	duals       []float64 // of a load of each lot, by the LP solution over patterns
	regions     int       // of the market, this one among them
	cost        int64
}

// style is how a machine is filled.
type style int

const (
	bySize    style = iota // the largest that fits
	byBalance              // what leaves the rest of the machine best proportioned
)

// How many columns a machine is filled for, to compare: at least leastCandidates,
// and more where there are few lots, so that the effort stays about the same.
const (
	leastCandidates = 3
	fillsPerStep    = 1024
)

func (s *buyer) newCover(lots []*lot, sellers []*model.Pool, b budget, st style) *cover {
	c := &cover{s: s, sellers: sellers, before: b, budget: b.clone(), style: st}
	for _, l := range lots {
		if l.n > 0 && slices.ContainsFunc(sellers, func(p *model.Pool) bool { return model.AnyIn(l.mask, p.Offerings) }) {
			l.index, l.choice = len(c.lots), l.opt.Offerings.Count()
			c.order = append(c.order, l.index)
			c.lots = append(c.lots, l)
			c.left = append(c.left, l.n)
		}
	}
	c.limited = slices.ContainsFunc(sellers, func(p *model.Pool) bool { return b[p.Number] != nil }) && !c.lower()
	if c.limited {
		c.style = bySize
	}
	c.sort(c.limited)
	c.sorted = slices.Clone(c.order)
	wishes := make([]wish, len(c.lots))
	c.loadNeeds = make([]int64, 0, len(c.lots)*len(s.Space.Names))
	for i, l := range c.lots {
		wishes[i] = wish{l.opt, l.need}
		c.loadNeeds = append(c.loadNeeds, l.need...)
	}
	c.columns = s.rivals(wishes, sellers, b)
	c.pricing, c.demand = price.New(s.Supply, c.columns, c.nodeCost()), price.NewDemand(len(s.Space.Names))
	c.groupByMask()
	c.worth, c.scale, c.taken = make([]float64, len(c.lots)), make([]float64, len(c.lots)), make([]int64, len(c.lots))
	c.least, c.spare, c.rest = make([]int64, len(s.Space.Names)), make([]int64, len(s.Space.Names)), make([]float64, len(s.Space.Names))
	c.most = make([]float64, len(c.columns))
	c.thin()

	return c
}

// lower reports whether sellers of a lower weight have something for the lots.
func (c *cover) lower() bool {
	return slices.ContainsFunc(c.s.Pools, func(p *model.Pool) bool {
		return p.Weight < c.sellers[0].Weight && slices.ContainsFunc(c.lots, func(l *lot) bool { return model.AnyIn(l.mask, p.Offerings) })
	})
}

// sort brings important pods first, in case that limits do not allow all; then those
// that have the least choice, so that what is left at the end fits anywhere; then the
// largest, which pack best, or the smallest, so that most get a place, but before them
// those that need devices: the room that they leave is for everybody.
func (c *cover) sort(smallest bool) {
	slices.SortStableFunc(c.order, func(i, j int) int {
		x, y := c.lots[i], c.lots[j]
		bySize := cmp.Compare(y.size, x.size)
		if smallest {
			bySize = cmp.Or(cmpBool(y.parts[0].class.devices, x.parts[0].class.devices), -bySize)
		}
		return cmp.Or(cmp.Compare(y.priority(), x.priority()), cmp.Compare(x.choice, y.choice), bySize)
	})
}

// anew returns a cover of the same lots of which nothing is bought yet.
func (c *cover) anew() *cover {
	out := *c
	out.budget, out.order, out.left = c.before.clone(), slices.Clone(c.sorted), make([]int64, len(c.lots))
	for i, l := range c.lots {
		out.left[i] = l.n
	}
	out.bought, out.cost, out.empty = nil, 0, nil
	return &out
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
		c.buy(best, math.MaxInt64)

	}
}

// groupByMask numbers the sets of columns that the lots' requirements allow.
func (c *cover) groupByMask() {
	known := map[int]int{}
	for _, l := range c.lots {
		at, ok := known[l.opt.ID]
		if !ok {
			at = len(c.masks)
			known[l.opt.ID] = at
			c.masks = append(c.masks, l.opt.Offerings)
		}
		c.maskOf = append(c.maskOf, at)
	}
}

// price sets the worth of the lots and the rates of the candidates. A unit of each
// resource has a worth; what that costs depends on which columns a lot allows: pods
// that must be on demand cannot have it at the price of spot.
func (c *cover) price() {
	c.demand.Reset()
	for _, i := range c.order {
		c.demand.Add(c.needOf(i), c.left[i])
	}
	found := c.pricing.Price(c.demand)
	c.unit, c.rate, c.byRate = found.Dual, found.PerUnit, found.Order
	clear(c.most)
	scales := make([]float64, len(c.masks))
	for g, mask := range c.masks {
		scales[g], _ = found.Least(mask)
		for j, k := range c.columns {
			if mask.Has(k) {
				c.most[j] = max(c.most[j], scales[g]/c.rate[j])
			}
		}
	}
	for r := range c.least {
		c.least[r] = math.MaxInt64
	}
	for _, i := range c.order {
		c.scale[i] = scales[c.maskOf[i]]
		need := c.needOf(i)
		c.worth[i] = float64(c.scale[i] * price.Value(need, c.unit))
		for r, v := range need {
			c.least[r] = min(c.least[r], v)
		}
	}
	c.sample()
}

// bestFor fills a machine of each promising column, starting with a pod of the
// given lot, and returns the one that gets the most worth for its price.
func (c *cover) bestFor(seed int) *machine {
	var best *machine
	bestScore := 0.0
	for _, j := range c.promising(seed) {
		if best != nil && bestScore >= c.most[j] {
			continue // even a full machine of this column gets less for its price
		}
		m := c.fill(c.columns[j], seed)
		if m == nil {
			continue
		}
		c.s.shrink(m, func(col *model.Offering) bool { return c.budget.affords(col, 1) > 0 })
		if score := c.score(m); best == nil || score > bestScore*(1+1e-9) {
			best, bestScore, m = m, score, best
		}
		c.empty = m
	}
	return best
}

func (c *cover) score(m *machine) float64 {
	return c.worthOfItems(m) / float64(max(1, c.costOf(m)))
}

// promising lists the candidates (as indices of columns) that hold the lot, the best rates first, of
// equal ones the largest first.
func (c *cover) promising(seed int) []int {
	mask := c.lots[seed].mask
	able := make([]int, 0, len(c.columns))
	for _, j := range c.byRate {
		if k := c.columns[j]; mask.Has(k) && c.budget.affords(&c.s.Offerings[k], 1) > 0 {
			able = append(able, j)
		}
	}
	most := leastCandidates + fillsPerStep/len(c.order)
	return able[:min(len(able), most)]
}

// buy takes the machine as often as the counts and limits allow, at most so often.
func (c *cover) buy(m *machine, times int64) {
	col := &c.s.Offerings[m.column]
	for _, it := range m.items {
		times = min(times, c.left[it.lot.index]/it.n)
	}
	times = max(1, c.budget.affords(col, times))
	c.budget.spend(col, times)
	for _, it := range m.items {
		c.left[it.lot.index] -= it.n * times
	}
	c.cost += times * c.costOf(m)
	for range times {
		c.bought = append(c.bought, m)
	}
}

func (c *cover) nodeCost() int64 { return int64(c.s.cost) + c.perNode }

// costOf is the price of a machine with the cost of having it.
func (c *cover) costOf(m *machine) int64 { return c.s.Offerings[m.column].Price + c.nodeCost() }

func (c *cover) worthOfItems(m *machine) float64 {
	worth := 0.0
	for _, it := range m.items {
		worth += float64(float64(it.n) * c.worth[it.lot.index])
	}
	return worth
}
