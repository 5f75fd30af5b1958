package localsearch

import "slices"

const (
	// stepsPerItem is what it takes to take an item out.
	stepsPerItem = 20
	// stepsPerFill is what it takes to fill a machine, beside looking at items.
	stepsPerFill = 30
	// stepsPerRule is what it takes to ask about a tied item, and about each tiesPerRule of its ties.
	stepsPerRule, tiesPerRule = 10, 8
	// offeringsPerStep are looked at in a step.
	offeringsPerStep = 16
)

// refill puts items onto the nodes that were taken out, and returns what they are worth.
func (s *Search) refill() float64 {
	worth := 0.0
	for _, k := range s.out {
		if j := s.bought[k].offering; j < s.nodes {
			s.fillNode(j)
			s.put(&s.tried)
			worth += s.tried.value
		}
	}
	return worth
}

// put makes a content the next of the machines, which takes it off what is left.
func (s *Search) put(c *content) {
	s.add(c)
	s.spend(c.offering, 1)
	for _, part := range c.parts {
		s.left[part.Item] -= part.N
	}
	for r, v := range c.used {
		s.sum[r] -= v
	}
	s.pool = slices.DeleteFunc(s.pool, func(i int) bool { return s.left[i] == 0 })
}

// recreate buys for what is left, which is worth so much, at less than a cost, and returns
// what it costs. At each machine it is looked whether one more would be the last.
func (s *Search) recreate(most int64, rest float64) (int64, bool) {
	spent, before, found := int64(0), s.count, false
	complete := before // machines before the last one
	for len(s.pool) > 0 {
		if s.finish(most - spent) {
			complete, found = s.count, true
			most = spent + s.last.cost
		}
		if !s.buyNext(most-spent) || s.count-before >= mostMade {
			break
		}
		spent += s.next.cost
		rest -= s.next.value
		if float64(spent)+max(0, rest) >= float64(most) {
			break
		}
		s.put(&s.next)
	}
	for i := range s.made[:s.count] {
		s.spend(s.made[i].offering, -1)
	}
	switch {
	case len(s.pool) == 0 && spent < most:
		return spent, true
	case found:
		s.count = complete
		s.add(&s.last)
		return most, true
	}
	return 0, false
}

// finish looks for the cheapest machine that holds all that is left, below a cost.
func (s *Search) finish(most int64) bool {
	c := &s.tried
	c.parts, c.value = c.parts[:0], 0
	for _, i := range s.pool {
		c.parts = append(c.parts, Part{i, s.left[i]})
		c.value += float64(float64(s.left[i]) * s.items[i].Value)
	}
	s.masked(c.on, c.parts)
	copy(c.used, s.sum)
	s.steps -= len(s.pool) + len(s.order)/offeringsPerStep
	c.offering = s.cheapest(c.on, c.used, len(s.order), func(j int) bool { return s.costs[j] >= most || s.admits(j, c.parts) })
	if c.offering < 0 || s.costs[c.offering] >= most {
		return false
	}
	c.cost = s.costs[c.offering]
	s.last.set(c)
	return true
}

// stepsOfRules is what it takes to ask about the item, and to put it on a machine.
func (it *Item) stepsOfRules() int { return stepsPerRule * (1 + it.Ties/tiesPerRule) }

// admits reports whether limits and rules allow a machine with the parts.
func (s *Search) admits(offering int, parts []Part) bool {
	if !s.affords(offering) {
		return false
	}
	begun := false
	for _, part := range parts {
		it := &s.items[part.Item]
		if !it.Tied {
			continue
		}
		if !begun {
			s.rules.Begin(s.order[offering])
			begun = true
		}
		s.steps -= it.stepsOfRules()
		if s.rules.Admits(part.Item, part.N) < part.N {
			return false
		}
		s.rules.Add(part.Item, part.N)
	}
	return true
}
