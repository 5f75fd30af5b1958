package purchase

import (
	"cmp"
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/assign"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/model"
	"github.com/packhorse-io/terraform-provider-packhorse/internal/price"
)

// buyer buys machines, as long as there are trials left.
type buyer struct {
	*assign.Market
	trials   int  // machines that may still be filled to make a plan
	searches int  // the same to search for a cheaper one
	patient  bool // somebody has said how long to search
	enlarged bool // trials are in proportion to the pods already
}

// makingShare is the part of the trials, one in so many, that making a plan takes at
// most; the others are for a search from there.
const makingShare = 4

// newBuyer returns a buyer for so many pods with so many trials, 0 for what is usual.
func newBuyer(m *assign.Market, pods, trials int) *buyer {
	all := cmp.Or(trials, assign.DefaultTrials(pods))
	making := max(1, all/makingShare)
	return &buyer{Market: m, trials: making, searches: all - making, patient: trials > 0}
}

// A purchase buys machines for pod groups. It repeats: price the resources for what is
// left to buy (duals), take the largest pod group, fill one machine of each of the
// offerings that are the best worth for the money, keep the one that gets the most
// worth per price, and buy it as often as the counts allow.
type purchase struct {
	s            *buyer
	groups       []*assign.PodGroup
	left         []int64
	loadNeeds    []int64 // what a load of each pod group needs, one after the other
	order        []int   // pod groups with something left, the largest first
	sorted       []int   // all pod groups in that order
	pools        []*model.Pool
	before       assign.Remaining // what limits leave for all of it
	budget       assign.Remaining
	limited      bool  // limits bind, and nobody else sells what they do not allow
	perNode      int64 // what a machine is taken to cost beyond its price and NodeCost
	style        style
	pricing      *price.Pricing
	demand       *price.Demand  // scratch
	candidates   []int          // candidates: one of each group of offerings that no pod group tells apart
	unit         []float64      // worth of a unit of each resource
	value        []float64      // of a load of each pod group
	scale        []float64      // by pod group: what the cheapest way to have its needs costs for a unit of worth
	perUnit      []float64      // by candidate: its cost for a unit of its room's worth
	byPerUnit    []int          // candidates, the best price per unit first
	most         []float64      // by candidate: the most that a full one can be worth for its cost
	masks        []model.Bitset // distinct sets of offerings that pod groups allow
	maskOf       []int          // by pod group
	window       []offered      // pod groups for exchanges, the most worth first
	windowNeeds  []int64        // what loads of these need, one after the other
	largestScale float64        // the largest scale of any of these
	least        []int64        // of each resource that all pod groups of the order need, the least need
	taken        []int64        // loads of each pod group on the machine that is being filled
	spare        []int64        // scratch
	near         []int          // scratch: pod groups to balance a machine with, their needs, and what is left of it
	needs        []float64
	rest         []float64
	empty        *assign.Machine // one that nobody has a use for, to be filled next
	bought       []*assign.Machine
	duals        []float64 // of a load of each pod group, by the LP solution over patterns
	regions      int       // of the market, this one among them
	cost         int64
}

// style is how a machine is filled.
type style int

const (
	bySize    style = iota // the largest that fits
	byBalance              // what leaves the rest of the machine best proportioned
)

// How many offerings a machine is filled for, to compare: at least leastCandidates,
// and more where there are few pod groups, so that the effort stays about the same.
const (
	leastCandidates = 3
	fillsPerStep    = 1024
)

func (s *buyer) newPurchase(groups []*assign.PodGroup, pools []*model.Pool, b assign.Remaining, st style) *purchase {
	c := &purchase{s: s, pools: pools, before: b, budget: b.Clone(), style: st}
	for _, l := range groups {
		if l.N > 0 && slices.ContainsFunc(pools, func(p *model.Pool) bool { return model.AnyIn(l.Mask, p.Offerings) }) {
			l.Index, l.Choice = len(c.groups), l.Opt.Offerings.Count()
			c.order = append(c.order, l.Index)
			c.groups = append(c.groups, l)
			c.left = append(c.left, l.N)
		}
	}
	c.limited = slices.ContainsFunc(pools, func(p *model.Pool) bool { return b[p.Number] != nil }) && !c.lower()
	if c.limited {
		c.style = bySize
	}
	c.sort(c.limited)
	c.sorted = slices.Clone(c.order)
	asks := make([]ask, len(c.groups))
	c.loadNeeds = make([]int64, 0, len(c.groups)*len(s.Space.Names))
	for i, l := range c.groups {
		asks[i] = ask{l.Opt, l.Need}
		c.loadNeeds = append(c.loadNeeds, l.Need...)
	}
	c.candidates = s.paretoFront(asks, pools, b)
	c.pricing, c.demand = price.New(s.Supply, c.candidates, c.nodeCost()), price.NewDemand(len(s.Space.Names))
	c.groupByMask()
	c.value, c.scale, c.taken = make([]float64, len(c.groups)), make([]float64, len(c.groups)), make([]int64, len(c.groups))
	c.least, c.spare, c.rest = make([]int64, len(s.Space.Names)), make([]int64, len(s.Space.Names)), make([]float64, len(s.Space.Names))
	c.most = make([]float64, len(c.candidates))
	c.prune()

	return c
}

// lower reports whether pools of a lower weight have something for the pod groups.
func (c *purchase) lower() bool {
	return slices.ContainsFunc(c.s.Pools, func(p *model.Pool) bool {
		return p.Weight < c.pools[0].Weight && slices.ContainsFunc(c.groups, func(l *assign.PodGroup) bool { return model.AnyIn(l.Mask, p.Offerings) })
	})
}

// sort brings important pods first, in case that limits do not allow all; then those
// that have the least choice, so that what is left at the end fits anywhere; then the
// largest, which pack best, or the smallest, so that most get a place, but before them
// those that need devices: the room that they leave is for everybody.
func (c *purchase) sort(smallest bool) {
	slices.SortStableFunc(c.order, func(i, j int) int {
		x, y := c.groups[i], c.groups[j]
		bySize := cmp.Compare(y.Size, x.Size)
		if smallest {
			bySize = cmp.Or(assign.CmpBool(y.Parts[0].Class.AllowDevices, x.Parts[0].Class.AllowDevices), -bySize)
		}
		return cmp.Or(cmp.Compare(y.Priority(), x.Priority()), cmp.Compare(x.Choice, y.Choice), bySize)
	})
}

// again returns a purchase of the same pod groups of which nothing is bought yet.
func (c *purchase) again() *purchase {
	out := *c
	out.budget, out.order, out.left = c.before.Clone(), slices.Clone(c.sorted), make([]int64, len(c.groups))
	for i, l := range c.groups {
		out.left[i] = l.N
	}
	out.bought, out.cost, out.empty = nil, 0, nil
	return &out
}

// run buys until nothing is left or nothing more can be bought.
func (c *purchase) run() {
	for {
		c.order = slices.DeleteFunc(c.order, func(i int) bool { return c.left[i] == 0 })
		if len(c.order) == 0 {
			return
		}
		c.price()
		best := c.bestFor(c.order[0])
		if best == nil {
			c.order = c.order[1:] // no offering can be had for this pod group any more
			continue
		}
		c.buy(best, math.MaxInt64)

	}
}

// groupByMask numbers the sets of offerings that the pod groups' requirements allow.
func (c *purchase) groupByMask() {
	known := map[int]int{}
	for _, l := range c.groups {
		at, ok := known[l.Opt.ID]
		if !ok {
			at = len(c.masks)
			known[l.Opt.ID] = at
			c.masks = append(c.masks, l.Opt.Offerings)
		}
		c.maskOf = append(c.maskOf, at)
	}
}

// price sets the worth of the pod groups and the prices per unit of the candidates. A unit of each
// resource has a worth; what that costs depends on which offerings a pod group allows: pods
// that must be on demand cannot have it at the price of spot.
func (c *purchase) price() {
	c.demand.Reset()
	for _, i := range c.order {
		c.demand.Add(c.needOf(i), c.left[i])
	}
	found := c.pricing.Price(c.demand)
	c.unit, c.perUnit, c.byPerUnit = found.Dual, found.PerUnit, found.Order
	clear(c.most)
	scales := make([]float64, len(c.masks))
	for g, mask := range c.masks {
		scales[g], _ = found.Least(mask)
		for j, k := range c.candidates {
			if mask.Has(k) {
				c.most[j] = max(c.most[j], scales[g]/c.perUnit[j])
			}
		}
	}
	for r := range c.least {
		c.least[r] = math.MaxInt64
	}
	for _, i := range c.order {
		c.scale[i] = scales[c.maskOf[i]]
		need := c.needOf(i)
		c.value[i] = float64(c.scale[i] * price.Value(need, c.unit))
		for r, v := range need {
			c.least[r] = min(c.least[r], v)
		}
	}
	c.sample()
}

// bestFor fills a machine of each promising offering, starting with a pod of the
// given pod group, and returns the one that gets the most worth for its price.
func (c *purchase) bestFor(seed int) *assign.Machine {
	var best *assign.Machine
	bestScore := 0.0
	for _, j := range c.promising(seed) {
		if best != nil && bestScore >= c.most[j] {
			continue // even a full machine of this offering gets less for its price
		}
		m := c.fill(c.candidates[j], seed)
		if m == nil {
			continue
		}
		c.s.Shrink(m, func(col *model.Offering) bool { return c.budget.Affords(col, 1) > 0 })
		if score := c.score(m); best == nil || score > bestScore*(1+1e-9) {
			best, bestScore, m = m, score, best
		}
		c.empty = m
	}
	return best
}

func (c *purchase) score(m *assign.Machine) float64 {
	return c.valueOf(m) / float64(max(1, c.costOf(m)))
}

// promising lists the candidates (as indices of offerings) that hold the pod group, the best prices per unit first, of
// equal ones the largest first.
func (c *purchase) promising(seed int) []int {
	mask := c.groups[seed].Mask
	able := make([]int, 0, len(c.candidates))
	for _, j := range c.byPerUnit {
		if k := c.candidates[j]; mask.Has(k) && c.budget.Affords(&c.s.Offerings[k], 1) > 0 {
			able = append(able, j)
		}
	}
	most := leastCandidates + fillsPerStep/len(c.order)
	return able[:min(len(able), most)]
}

// buy takes the machine as often as the counts and limits allow, at most so often.
func (c *purchase) buy(m *assign.Machine, times int64) {
	col := &c.s.Offerings[m.Offering]
	for _, it := range m.Items {
		times = min(times, c.left[it.Group.Index]/it.N)
	}
	times = max(1, c.budget.Affords(col, times))
	c.budget.Spend(col, times)
	for _, it := range m.Items {
		c.left[it.Group.Index] -= it.N * times
	}
	c.cost += times * c.costOf(m)
	for range times {
		c.bought = append(c.bought, m)
	}
}

func (c *purchase) nodeCost() int64 { return int64(c.s.NodeCost) + c.perNode }

// costOf is the price of a machine with the cost of having it.
func (c *purchase) costOf(m *assign.Machine) int64 {
	return c.s.Offerings[m.Offering].Price + c.nodeCost()
}

func (c *purchase) valueOf(m *assign.Machine) float64 {
	worth := 0.0
	for _, it := range m.Items {
		worth += float64(float64(it.N) * c.value[it.Group.Index])
	}
	return worth
}
