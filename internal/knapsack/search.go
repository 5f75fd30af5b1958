package knapsack

import (
	"cmp"
	"math"
	"slices"
)

// Search looks for the content that is worth most, by branch and bound. It knows what the
// machine is worth with divided items, and counts what a content loses of that: an item that
// the divided content has and this one has not loses what it is worth beyond the price of
// its needs, one that it has not what it lacks to that price, and room that is left its
// price. Contents that lose little differ little from the divided one. A search may be used
// for one knapsack after the other.
type Search struct {
	// Content is how many of each item there are on the machine, where Found.
	Content []int64
	Found   bool
	// Operations that it has taken in all.
	Operations int

	k     *Knapsack
	order []int // items, those that lose most first, of those that lose nothing the largest
	gain  []float64
	unit  []float64 // by row: price of a unit
	// By place in the order, for all from there on: what they may use of each row, what
	// the smallest needs, and what is lost if none of them is taken.
	use, small []int64
	missed     []float64
	rest       []int64
	taken      []int64
	seen       []visit
	round      int32

	limit float64 // contents lose less than this
	steps int     // left
}

// visit is a place in the order with so much room left, and what the best way there
// loses, all room that is left included.
type visit struct {
	round, place int32
	rest         [mostSeen]int64
	loss         float64
}

const (
	// mostSeen rows of a machine are distinguished in visits; there are mostly three.
	mostSeen = 4
	// visits that are remembered.
	visits = 1 << 12
	// even is the share of its value below which an item gains nothing.
	even = 1e-4
	// operationsPerStep is about what a step takes, and operationsPerShare what it takes to
	// begin, for each item and row.
	operationsPerStep, operationsPerShare = 24, 4
)

// Run looks for the best content that is worth more than least, in so many steps, for the
// values for which the knapsack's ceiling was asked last. It returns what no content is
// proven to be worth more than. Where there are too many contents, it looks for those that
// lose little, of which there are few.
func (s *Search) Run(k *Knapsack, least float64, steps int) float64 {
	s.begin(k)
	value := k.packing.Value
	if value <= least {
		return value
	}
	if s.within(value-least, steps/4) {
		if s.Found {
			return value - s.limit
		}
		return least
	}
	proven, loss, found := value, s.limit, s.Found
	for _, part := range [...]float64{1.0 / 32, 1.0 / 8, 1.0 / 2} {
		s.Found = false
		if !s.within(float64(loss*part), steps/4) {
			break
		}
		if s.Found {
			return value - s.limit
		}
		proven = value - float64(loss*part)
	}
	s.Found = s.Found || found
	return proven
}

// begin states the question.
func (s *Search) begin(k *Knapsack) {
	n := len(k.most)
	s.k, s.Found = k, false
	s.order, s.gain = s.order[:0], cleared(s.gain, n)
	weight := cleared(s.missed, n+1)
	for j := range n {
		if k.values[j] > 0 {
			s.order = append(s.order, j)
		}
		pays := k.packing.Pays(j)
		s.gain[j], weight[j] = k.values[j]-pays, -pays
		if math.Abs(s.gain[j]) > even*pays {
			weight[j] = math.Abs(s.gain[j])
		}
	}
	slices.SortStableFunc(s.order, func(a, b int) int {
		x, y := weight[a], weight[b]
		if x < 0 && y < 0 {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	})
	s.unit = s.unit[:0]
	for r, price := range k.packing.Price {
		s.unit = append(s.unit, price/float64(k.room[r]))
	}
	s.rest = append(s.rest[:0], k.room...)
	s.taken, s.Content = cleared(s.taken, n), cleared(s.Content, n)
	s.sum()
	if s.seen == nil {
		s.seen = make([]visit, visits)
	}
	s.Operations += operationsPerShare * n * (k.Rows + operationsPerShare)
}

// sum sets what is known of all items from each place on.
func (s *Search) sum() {
	n, rows := len(s.order), s.k.Rows
	s.use, s.small, s.missed = cleared(s.use, (n+1)*rows), cleared(s.small, (n+1)*rows), cleared(s.missed, n+1)
	for r := range rows {
		s.small[n*rows+r] = math.MaxInt64
	}
	for i := n - 1; i >= 0; i-- {
		j := s.order[i]
		most := s.k.most[j]
		s.missed[i] = s.missed[i+1] + float64(max(0, s.gain[j])*float64(most))
		for r, need := range s.needOf(j) {
			s.use[i*rows+r] = s.use[(i+1)*rows+r] + most*need
			s.small[i*rows+r] = min(s.small[(i+1)*rows+r], need)
		}
	}
}

func cleared[T any](v []T, n int) []T {
	v = slices.Grow(v[:0], n)[:n]
	clear(v)
	return v
}

// within looks for contents that lose less, and reports whether it has looked at all.
func (s *Search) within(loss float64, steps int) bool {
	s.limit, s.steps = loss, steps
	s.round++
	s.from(0, 0)
	s.Operations += (steps - max(0, s.steps)) * operationsPerStep
	return s.steps > 0
}

// from decides on the items from place i of the order on.
func (s *Search) from(i int, loss float64) {
	if s.steps <= 0 {
		return
	}
	s.steps--
	for ; i < len(s.order) && !s.full(i); i++ {
		if least := loss + s.left(i); least >= s.limit || s.visited(i, loss) {
			return
		}
		j := s.order[i]
		if n := s.fits(j); n > 0 {
			s.branch(i, j, n, loss)
			return
		}
		loss += float64(max(0, s.gain[j]) * float64(s.k.most[j]))
	}
	loss += s.missed[i]
	for r, rest := range s.rest {
		loss += float64(s.unit[r] * float64(rest))
	}
	if loss < s.limit {
		s.limit, s.Found = loss, true
		copy(s.Content, s.taken)
	}
}

// left returns the price of the room that the items from place i on must leave.
func (s *Search) left(i int) float64 {
	price := 0.0
	for r, rest := range s.rest {
		if over := rest - s.use[i*s.k.Rows+r]; over > 0 {
			price += float64(s.unit[r] * float64(over))
		}
	}
	return price
}

// full reports whether none of the items from place i on fits.
func (s *Search) full(i int) bool {
	for r, rest := range s.rest {
		if rest < s.small[i*s.k.Rows+r] {
			return true
		}
	}
	return false
}

// visited reports whether the search was at this place before with as much room of all
// resources and nothing less on the machine, and remembers it.
func (s *Search) visited(i int, loss float64) bool {
	if s.k.Plain > mostSeen {
		return false
	}
	now, hash := visit{round: s.round, place: int32(i), loss: loss}, uint64(i)+1
	for r, rest := range s.rest {
		now.loss += float64(s.unit[r] * float64(rest))
		if r < s.k.Plain {
			now.rest[r] = rest
			hash = (hash ^ uint64(rest)) * 0x9E3779B97F4A7C15
			hash ^= hash >> 29
		}
	}
	at := &s.seen[hash%visits]
	if at.round == now.round && at.place == now.place && at.rest == now.rest && at.loss <= now.loss {
		return true
	}
	*at = now
	return false
}

// branch tries all numbers of an item, the best first.
func (s *Search) branch(i, j int, n int64, loss float64) {
	gain := s.gain[j]
	if gain < -even*s.k.values[j] {
		for x := int64(0); x <= n && loss-float64(float64(x)*gain) < s.limit; x++ {
			s.try(i, j, x, loss-float64(float64(x)*gain))
		}
		return
	}
	most := s.k.most[j]
	for x := n; x >= 0; x-- {
		if lost := loss + max(float64(float64(most-x)*gain), -float64(float64(x)*gain)); lost < s.limit {
			s.try(i, j, x, lost)
		} else if gain > 0 {
			return
		}
	}
}

func (s *Search) try(i, j int, x int64, loss float64) {
	s.take(j, x)
	s.from(i+1, loss)
	s.take(j, -x)
}

func (s *Search) take(j int, x int64) {
	s.taken[j] += x
	for r, v := range s.needOf(j) {
		s.rest[r] -= x * v
	}
}

func (s *Search) needOf(j int) []int64 { return s.k.need[j*s.k.Rows:][:s.k.Rows] }

// fits returns how many of an item fit into the rest.
func (s *Search) fits(j int) int64 {
	n := s.k.most[j]
	for r, v := range s.needOf(j) {
		if v > 0 {
			n = min(n, s.rest[r]/v)
		}
	}
	return n
}
