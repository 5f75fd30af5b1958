package localsearch

import "slices"

const (
	// tries is for how many of the amongBest offerings a machine is filled; one more is
	// drawn from all.
	tries, amongBest = 3, 8
	// seldom is how often, in percent, a machine begins with an item that is drawn, instead of
	// the first of the pool.
	seldom = 25
	// noise is by how much less a content may be worth, in percent, and still be taken.
	noise = 2
	// anyFirst is how often, in percent, a node is filled beginning with any item.
	anyFirst = 50
	// dense is the density from which on an item is put on a machine before others.
	dense = 0.95
)

// buyNext fills machines of some offerings and leaves the one that wastes the least part
// of its cost in next. It reports false where there is none, for example because an item that was taken
// off a node could only go to offerings that limits do not allow.
func (s *Search) buyNext(most int64) bool {
	seed := s.pool[0]
	if s.random.below(100) < seldom {
		seed = s.pool[s.random.below(len(s.pool))]
	}
	able := s.ranked[s.items[seed].Kind]
	if len(able) == 0 {
		return false
	}
	best := 0.0
	for i := range tries + 1 {
		j := able[s.random.below(len(able))]
		if i < tries {
			j = able[s.random.below(min(len(able), amongBest))]
		}
		// What is left may leave room for a cheaper machine than the one that is filled.
		if s.costs[j] >= most+most/4 || !s.affords(j) || !s.fill(j, seed) || s.tried.cost >= most {
			continue
		}
		score := s.tried.value / float64(s.tried.cost) * (1 + float64(s.random.below(100)*noise)/10_000)
		if score > best {
			best = score
			s.tried, s.next = s.next, s.tried
		}
	}
	return best > 0
}

// fillNode fills a node, at times beginning with any item.
func (s *Search) fillNode(node int) {
	s.empty(node)
	if len(s.pool) > 0 && s.random.below(100) < anyFirst {
		if first := s.pool[s.random.below(len(s.pool))]; s.kinds[s.items[first].Kind].Has(node) {
			s.take(&s.tried, first, 1)
		}
	}
	s.fillUp()
}

// fill fills a machine that begins with an item of the seed, and replaces it by the cheapest
// that holds the content. It reports false where not even the seed fits.
func (s *Search) fill(offering, seed int) bool {
	s.empty(offering)
	c := &s.tried
	if s.take(c, seed, 1) == 0 {
		return false
	}
	s.fillUp()
	if j := s.cheapest(c.on, c.used, offering, func(j int) bool { return s.admits(j, c.parts) }); j >= 0 {
		c.offering = j
	}
	c.cost = s.costs[c.offering]
	s.steps -= len(s.order) / offeringsPerStep
	return true
}

// empty begins with nothing on a machine.
func (s *Search) empty(offering int) {
	c := &s.tried
	c.parts, c.value, c.offering, c.cost = c.parts[:0], 0, offering, s.costs[offering]
	copy(s.rest, s.roomOf(offering))
	if s.rules != nil {
		s.rules.Begin(s.order[offering])
	}
}

// fillUp adds items in one of several ways, as many as fit.
func (s *Search) fillUp() {
	c := &s.tried
	switch s.random.below(3) {
	case 0:
		s.bySize(c, 0, dense)
	case 1:
		s.bySize(c, 1+s.random.below(3), dense)
		s.bySize(c, 0, dense)
	default:
		s.balance(c)
	}
	s.bySize(c, 0, 0)
	for r, v := range s.roomOf(c.offering) {
		c.used[r] = v - s.rest[r]
	}
	s.masked(c.on, c.parts)
	s.steps -= stepsPerFill + 3*len(c.parts)
}

// take puts at most n of an item on the machine, and returns how many.
func (s *Search) take(c *content, item int, n int64) int64 {
	if n = s.copies(item, s.rest, min(n, s.left[item]-c.has(item))); n <= 0 {
		return 0
	}
	it := &s.items[item]
	if it.Tied {
		s.steps -= it.stepsOfRules()
		if n = s.rules.Admits(item, n); n <= 0 {
			return 0
		}
		s.rules.Add(item, n)
	}
	for r, v := range s.needOf(item) {
		s.rest[r] -= v * n
	}
	c.value += float64(float64(n) * it.Value)
	for k := range c.parts {
		if c.parts[k].Item == item {
			c.parts[k].N += n
			return n
		}
	}
	c.parts = append(c.parts, Part{item, n})
	return n
}

// has returns how many items of an item there are.
func (c *content) has(item int) int64 {
	for k := range c.parts {
		if c.parts[k].Item == item {
			return c.parts[k].N
		}
	}
	return 0
}

// bySize adds items in their order, as many as fit, of those that are dense enough, and skips
// that many in four of them.
func (s *Search) bySize(c *content, over int, least float64) {
	density := s.density[c.offering*len(s.items):][:len(s.items)]
	s.steps -= len(s.pool)
	for _, i := range s.pool {
		if density[i] <= least || s.copies(i, s.rest, 1) == 0 || over > 0 && s.random.below(4) < over {
			continue
		}
		s.take(c, i, s.left[i])
	}
}

// balance adds items one after the other: always the one whose needs point most in the
// direction of what is left of the machine, and that is worth most for them.
func (s *Search) balance(c *content) {
	density := s.density[c.offering*len(s.items):][:len(s.items)]
	near := s.near[:0]
	for _, i := range s.pool {
		if density[i] > 0 {
			near = append(near, i)
		}
	}
	for len(near) > 0 {
		for r, v := range s.roomOf(c.offering) {
			if s.weight[r] = 0; v > 0 {
				s.weight[r] = float64(s.rest[r]) / float64(v) / float64(v)
			}
		}
		at, most, kept := -1, -1.0, 0
		s.steps -= len(near)
		for _, i := range near {
			if s.copies(i, s.rest, 1) == 0 {
				continue
			}
			near[kept] = i
			if fit := float64(valueOf(s.needOf(i), s.weight) * density[i]); fit > most {
				at, most = kept, fit
			}
			kept++
		}
		if near = near[:kept]; at < 0 {
			break
		}
		i := near[at]
		n := s.copies(i, s.rest, s.left[i]-c.has(i))
		if n == 0 || s.take(c, i, max(1, n/4)) == 0 {
			near = slices.Delete(near, at, at+1)
		}
	}
	s.near = near[:0]
}
