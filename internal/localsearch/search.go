package localsearch

import (
	"math"
	"slices"

	"github.com/packhorse-io/terraform-provider-packhorse/internal/bitset"
)

// A large-neighbourhood search takes a few machines out, wasteful ones rather than others,
// buys for their content again, keeps what is cheaper, and now and then what is a little
// more expensive, so that it does not end in the first local optimum (ruin and recreate
// with simulated annealing: Schrimpf and others 2000). Items are worth about what their
// places cost at least, so that an attempt ends as soon as what is left cannot come out
// cheaper.
//
// What it is worth, on families-600 from the same start: 11.5 % above the resource bound without the
// search, 4.2 % after 20 million steps (docs/adr/0009-the-cores-second-edition.md). The
// constants were swept on four rows and worlds, most by factors of 3 in both directions:
// the results differ by no more than over random sequences, except that on families-100 a
// relation in all cases costs 1 %, and in none 0.4 %, and three times the warmth costs
// 0.8 % on families-600. Two to six machines at a time cost 0.5 to 0.7 % more than two or three
// (docs/worlds.md): attempts with five or six took a quarter of the steps, and hardly any was accepted.
const (
	// fewestOut and mostOut bound how many machines are taken out at a time.
	fewestOut, mostOut = 2, 3
	// mostMade bounds how many are bought instead.
	mostMade = 6
	// mostDraws bounds how often it is tried to draw another machine to be taken out.
	mostDraws = 24
	// amongWorst machines are drawn for each that is taken out: the one of them that
	// wastes most goes.
	amongWorst = 3
	// related is how often, in percent, only machines are taken out that could be
	// replaced by one.
	related = 70
	// warmth is the share of what a machine costs on average by which a purchase may
	// become more expensive at the beginning of a cycle; it falls to 0 at its end.
	warmth = 0.1
)

// Search is a purchase that is being improved.
type Search struct {
	market
	rules  Rules
	limits [][]int64 // what the purchase leaves

	bought []holding
	total  int64
	cost   int64    // of the best purchase that is known
	since  []change // from that one to what is bought

	steps  int // that are left
	random sequence
	out    []int // scratch: machines that are taken out
	attempt
}

// holding is a machine of the purchase. Its parts are never changed.
type holding struct {
	offering int // its place in the market's order, and not that in Problem.Offerings
	parts    []Part
	cost     int64 // what is on it is worth no more
	value    float64
	on       bitset.Set // offerings that all of its parts allow
}

// change is an attempt that was accepted: so many machines were added at the end, after
// others had each been replaced by the last one.
type change struct {
	added   int
	at      []int // in the order of their removal
	removed []holding
}

// waste is what is lost of what the content could be worth.
func (h *holding) waste() float64 { return float64(h.cost) - h.value }

// sequence is a fixed sequence of numbers that look as if drawn (Lehmer 1951), so that a
// search is the same each time.
type sequence uint64

// below returns the next number from 0 to n-1.
func (s *sequence) below(n int) int {
	*s = *s * 48271 % 2147483647
	return int(uint64(*s) % uint64(n))
}

// New begins with a purchase that holds all items. It has at least one machine that is bought,
// and each node once.
func New(p *Problem, bought []Machine) *Search {
	s := &Search{market: newMarket(p), rules: p.Rules, random: 1}
	for _, left := range p.Limits {
		s.limits = append(s.limits, slices.Clone(left))
	}
	for _, m := range bought {
		h := holding{offering: s.place[m.Offering], parts: slices.Clone(m.Parts), on: bitset.New(len(s.costs))}
		h.cost = s.costs[h.offering]
		s.masked(h.on, h.parts)
		for _, part := range h.parts {
			h.value += float64(s.items[part.Item].Value * float64(part.N))
		}
		s.spend(h.offering, 1)
		s.bought, s.total = append(s.bought, h), s.total+s.price(h.offering)
	}
	s.cost = s.total
	s.attempt = newAttempt(len(s.items), s.width, len(s.costs))
	return s
}

// Cost of the best purchase that is known.
func (s *Search) Cost() int64 { return s.cost }

// Best returns the best purchase that is known.
func (s *Search) Best() []Machine {
	s.restore()
	out := make([]Machine, len(s.bought))
	for i, h := range s.bought {
		out[i] = Machine{s.order[h.offering], h.parts}
	}
	return out
}

// Cycle searches for at most so many steps of a cycle of the given length, beginning with
// the best purchase that is known, and not beyond a cost that is good enough. It returns
// the steps taken, each of which takes a processor about five nanoseconds. What comes
// first in a cycle does not depend on how far it goes, so that more is never worse.
func (s *Search) Cycle(steps, length int, enough float64) int {
	s.restore()
	s.steps = steps
	for s.steps > 0 && float64(s.cost) > enough {
		left := float64(length-steps+s.steps) / float64(length)
		heat := float64(float64(warmth*left) * float64(s.total) / float64(max(1, len(s.bought)-s.nodes)))
		chance := float64(s.random.below(1000)) / 1000
		s.try(int64(float64(heat*chance) * chance))
		if s.total < s.cost {
			s.cost, s.since = s.total, s.since[:0]
		}
	}
	return steps - s.steps
}

// restore goes back to the best purchase.
func (s *Search) restore() {
	for _, c := range slices.Backward(s.since) {
		kept := len(s.bought) - c.added
		for _, h := range s.bought[kept:] {
			s.spend(h.offering, -1)
		}
		s.bought = s.bought[:kept]
		for i, k := range slices.Backward(c.at) {
			h := c.removed[i]
			s.spend(h.offering, 1)
			if s.bought = append(s.bought, h); k < len(s.bought)-1 {
				last := len(s.bought) - 1
				s.bought[k], s.bought[last] = h, s.bought[k]
			}
		}
	}
	s.since, s.total = s.since[:0], s.cost
}

// spend counts machines against their limit.
func (s *Search) spend(offering int, n int64) {
	if at := s.limit[offering]; at >= 0 {
		for r, v := range s.uses[offering] {
			s.limits[at][r] -= n * v
		}
	}
}

// affords reports whether limits allow one more machine.
func (s *Search) affords(offering int) bool {
	at := s.limit[offering]
	if at < 0 {
		return true
	}
	for r, v := range s.uses[offering] {
		if v > 0 && v > s.limits[at][r] {
			return false
		}
	}
	return true
}

// try takes machines out and buys for their content again, at most so much more expensive.
func (s *Search) try(more int64) {
	if s.choose(); len(s.out) == 0 {
		s.steps -= stepsPerFill
		return
	}
	cost, rest := int64(0), 0.0
	s.begin()
	for _, k := range s.out {
		h := &s.bought[k]
		cost, rest = cost+s.price(h.offering), rest+h.value
		s.spend(h.offering, -1)
		s.collect(h.parts, &s.market)
	}
	slices.Sort(s.pool)
	s.steps -= stepsPerItem * len(s.pool)
	price, ok := s.recreate(cost+more, rest-s.refill())
	for _, i := range s.pool {
		s.left[i] = 0
	}
	if !ok {
		for _, k := range s.out {
			s.spend(s.bought[k].offering, 1)
		}
		return
	}
	s.accept()
	s.total += price - cost
}

// accept replaces the machines that were taken out by those that were made.
func (s *Search) accept() {
	slices.Sort(s.out)
	slices.Reverse(s.out)
	c := change{added: s.count, at: slices.Clone(s.out)}
	for _, k := range s.out {
		c.removed = append(c.removed, s.bought[k])
		last := len(s.bought) - 1
		s.bought[k] = s.bought[last]
		s.bought = s.bought[:last]
	}
	for i := range s.made[:s.count] {
		h := s.made[i].hold()
		s.spend(h.offering, 1)
		s.bought = append(s.bought, h)
	}
	s.since = append(s.since, c)
}

// choose draws the machines to be taken out.
func (s *Search) choose() {
	n := fewestOut + min(s.random.below(mostOut-fewestOut+1), s.random.below(mostOut-fewestOut+1))
	n = min(n, len(s.bought))
	s.out = s.out[:0]
	for draws := 0; len(s.out) < n && draws < mostDraws; draws++ {
		like := len(s.out) > 0 && s.random.below(100) < related
		worst, most := -1, math.Inf(-1)
		for range amongWorst {
			i := s.random.below(len(s.bought))
			if len(s.out) == 0 && s.bought[i].offering < s.nodes || slices.Contains(s.out, i) || like && !s.bought[i].on.Meets(s.bought[s.out[0]].on) {
				continue
			}
			if w := s.bought[i].waste(); w > most {
				worst, most = i, w
			}
		}
		if worst >= 0 {
			s.out = append(s.out, worst)
		}
	}
}
